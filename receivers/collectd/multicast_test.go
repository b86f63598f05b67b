package collectd

import (
	"net"
	"testing"

	"golang.org/x/net/ipv4"
)

func loopback(t testing.TB) *net.Interface {
	t.Helper()
	ifis, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for i := range ifis {
		if ifis[i].Flags&(net.FlagLoopback|net.FlagUp) == net.FlagLoopback|net.FlagUp {
			return &ifis[i]
		}
	}
	t.Skip("no loopback interface")
	return nil
}

// sendMulticast sends one datagram to a group, out of one interface and no further.
func sendMulticast(t testing.TB, ifi *net.Interface, addr string, b []byte) {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // sent
	p := ipv4.NewPacketConn(conn)
	if err := p.SetMulticastInterface(ifi); err != nil {
		t.Fatal(err)
	}
	if err := p.SetMulticastLoopback(true); err != nil {
		t.Fatal(err)
	}
	if err := p.SetMulticastTTL(0); err != nil {
		t.Fatal(err)
	}
	to, err := net.ResolveUDPAddr("udp4", addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.WriteTo(b, to); err != nil {
		t.Fatal(err)
	}
}

// routed reports whether the system knows where to send to a group.
func routed(t testing.TB, group string) bool {
	t.Helper()
	conn, err := net.Dial("udp4", group+":9")
	if err != nil {
		return false
	}
	_ = conn.Close() // nothing was sent
	return true
}
