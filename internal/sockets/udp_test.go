package sockets_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/sockets"
)

// TestWakeAt: take is called at the time it has asked for though nothing arrives, and what arrives
// then is read.
func TestWakeAt(t *testing.T) {
	u, err := sockets.ListenUDP(sockets.UDPOptions{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	calls, read := 0, 0
	send(t, u.Addr(), "x")
	err = u.Serve(ctx, func() {}, func(n int) {
		read += n
		switch {
		case read > 1:
			cancel()
		case calls < 3: // each is asked for
			calls++
			u.WakeAt(time.Now().Add(time.Millisecond))
		default: // from now on only what arrives
			u.WakeAt(time.Time{})
			send(t, u.Addr(), "y")
		}
	})
	if err != nil || calls != 3 || read != 2 {
		t.Errorf("%d calls and %d datagrams, %v; want 3 and 2", calls, read, err)
	}
}

func send(t *testing.T, to net.Addr, text string) {
	t.Helper()
	conn, err := net.Dial("udp", to.String())
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close() }() // sent
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Error(err)
	}
}
