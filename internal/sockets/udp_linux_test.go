package sockets_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/sockets"
)

// Only on Linux is a socket read without waiting, may be left unread, and are losses counted.

// TestServeReadsWhatHasArrived: what the socket holds when Serve has to end is read.
func TestServeReadsWhatHasArrived(t *testing.T) {
	var c sockets.Traffic
	u, err := sockets.ListenUDP(sockets.UDPOptions{Address: "127.0.0.1:0", Traffic: &c})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("udp", u.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	const sent = 300
	for range sent {
		if _, err := conn.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := 0
	if err := u.Serve(ctx, func() {}, func(n int) { got += n }); err != nil {
		t.Fatal(err)
	}
	if got != sent {
		t.Errorf("%d of %d datagrams read", got, sent)
	}
}

// TestUDPCountsLosses: what the kernel drops because nobody reads is counted once somebody does.
func TestUDPCountsLosses(t *testing.T) {
	var c sockets.Traffic
	u, err := sockets.ListenUDP(sockets.UDPOptions{Address: "127.0.0.1:0", Traffic: &c})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = u.Close() }() // nothing was written
	conn, err := net.Dial("udp", u.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // sent
	const sent = 2000
	b := make([]byte, 60_000) // a datagram takes far more than its share of the buffer
	for range sent {
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(time.Minute)
	if err := u.SetDeadline(deadline); err != nil {
		t.Fatal(err)
	}
	read := func() {
		t.Helper()
		n, _, err := u.Read(true)
		if err != nil {
			t.Fatalf("%d read, %d lost: %v", c.Packets.Load(), c.KernelDropped.Load(), err)
		}
		for i := range n {
			if got := u.From(i).String(); got != conn.LocalAddr().String() {
				t.Fatalf("from %s, want %s", got, conn.LocalAddr())
			}
		}
	}
	for more := uint64(1); ; more++ {
		read()
		// The count comes with the next datagram that is taken in.
		if _, err := conn.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		if packets, lost := c.Packets.Load(), c.KernelDropped.Load(); packets+lost+1 >= sent+more {
			if lost == 0 {
				t.Error("nothing was lost: the test tells nothing")
			}
			t.Logf("%d read, %d lost", packets, lost)
			return
		}
	}
}

// TestCloseEndsRead: Close ends a Read that waits, and a later one.
func TestCloseEndsRead(t *testing.T) {
	u, err := sockets.ListenUDP(sockets.UDPOptions{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(20*time.Millisecond, func() { _ = u.Close() }) // nothing was written
	for range 2 {
		if n, _, err := u.Read(true); n != 0 || !errors.Is(err, net.ErrClosed) {
			t.Errorf("%d datagrams, %v", n, err)
		}
	}
	if err := u.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
}
