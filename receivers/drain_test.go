package receivers_test

import (
	"context"
	"net"
	"runtime"
	"testing"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// TestServeReadsWhatHasArrived: what the socket holds when Serve is told to end is read.
func TestServeReadsWhatHasArrived(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux is a socket read without waiting")
	}
	var c receivers.Counters
	u, err := receivers.ListenUDP(receivers.UDPOptions{Address: "127.0.0.1:0", Counters: &c})
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
	q := receivers.NewQueue(new(receivertest.Recorder), &c, receivers.Config{})
	defer q.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := 0
	if err := u.Serve(ctx, q, func(n int) { got += n }); err != nil {
		t.Fatal(err)
	}
	if got != sent {
		t.Errorf("%d of %d datagrams read", got, sent)
	}
}
