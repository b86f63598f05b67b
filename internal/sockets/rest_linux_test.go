package sockets

import (
	"context"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestServeSleeps: Serve reads datagrams that come one by one together, once in rest at most.
func TestServeSleeps(t *testing.T) {
	const rest, sent = 100 * time.Millisecond, 40
	u, err := ListenUDP(UDPOptions{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	u.rest = rest
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := net.Dial("udp", u.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // sent
	go func() {
		for range sent {
			_, _ = conn.Write([]byte("x")) // what is missing is seen below
			time.Sleep(5 * time.Millisecond)
		}
	}()
	begun, reads, got := time.Now(), 0, 0
	err = u.Serve(ctx, func() {}, func(n int) {
		if n > 0 {
			reads++
		}
		if got += n; got == sent {
			cancel()
		}
	})
	if most := int(time.Since(begun)/rest) + 2; err != nil || got != sent || reads > most {
		t.Errorf("%d datagrams in %d reads, %v; want %d in %d at most", got, reads, err, sent, most)
	}
}

// TestRest: a socket with a small buffer is read sooner, and one with a tiny buffer at once.
func TestRest(t *testing.T) {
	u, err := ListenUDP(UDPOptions{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = u.Close() }() // nothing was written
	for _, c := range []struct {
		buffer    int
		gather, d time.Duration
	}{
		{2 << 20, 40 * time.Millisecond, 2500 * time.Microsecond},
		{4 << 20, 40 * time.Millisecond, 5 * time.Millisecond},
		{4 << 20, time.Hour, maxRest / 8},
		{64 << 10, time.Hour, 0},
		{4 << 20, -1, 0},
	} {
		// As root. A system that grants others less than 4 MiB gives shorter times.
		_ = unix.SetsockoptInt(u.r.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, c.buffer)
		_ = unix.SetsockoptInt(u.r.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, c.buffer)
		got, err := unix.GetsockoptInt(u.r.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
		if err != nil {
			t.Fatal(err)
		}
		want := c.d * time.Duration(got) / time.Duration(2*c.buffer)
		if want < minRest {
			want = 0
		}
		if d := u.r.rest(c.gather); d.Round(time.Microsecond) != want.Round(time.Microsecond) {
			t.Errorf("a buffer of %d bytes of %d, %s to gather: %s, want %s", got, c.buffer, c.gather, d, want)
		}
	}
}
