package sockets

import (
	"context"
	"io"
	"net"
	"testing"
)

// TestBoth: connections and datagrams arrive at one port, and when one socket fails the other is
// closed.
func TestBoth(t *testing.T) {
	b, err := ListenBoth(TCPOptions{Address: "127.0.0.1:0"}, UDPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.UDP().Addr().String(); got != b.Addr().String() {
		t.Fatalf("UDP listens at %s, TCP at %s", got, b.Addr())
	}
	if _, err := ListenBoth(TCPOptions{Address: b.Addr().String()}, UDPOptions{}); err == nil {
		t.Error("the address is had twice")
	}
	got := make(chan string)
	handle := func(_ context.Context, c *Conn) {
		text, _ := io.ReadAll(c) // what was read counts
		got <- "tcp " + string(text)
	}
	take := func(n int) {
		for i := range n {
			got <- "udp " + string(b.UDP().Packet(i))
		}
	}
	served := make(chan error)
	go func() { served <- b.Serve(t.Context(), handle, func() {}, take) }()
	for _, network := range []string{"tcp", "udp"} {
		conn, err := net.Dial(network, b.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "x"); err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		if text := <-got; text != network+" x" {
			t.Errorf("got %q by %s", text, network)
		}
	}
	if err := b.tcp.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err == nil {
		t.Error("Serve says nothing of the socket that failed")
	}
	if err := b.Close(); err != nil {
		t.Errorf("close after serve: %v", err)
	}
}

// TestBothOfOne: of open sockets there may be only one.
func TestBothOfOne(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := ListenBoth(TCPOptions{Listener: l}, UDPOptions{})
	if err != nil || tcp.UDP() != nil || tcp.Addr().String() != l.Addr().String() {
		t.Fatalf("of a TCP socket: %+v, %v", tcp, err)
	}
	udp, err := ListenBoth(TCPOptions{}, UDPOptions{Conn: pc})
	if err != nil || udp.tcp != nil || udp.Addr().String() != pc.LocalAddr().String() {
		t.Fatalf("of a UDP socket: %+v, %v", udp, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, b := range []*Both{tcp, udp} {
		if err := b.Serve(ctx, nil, func() {}, func(int) {}); err != nil {
			t.Error(err)
		}
	}
}
