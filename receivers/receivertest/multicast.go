package receivertest

import (
	"net"
	"testing"

	"golang.org/x/net/ipv4"

	"github.com/rondo-db/rondo/receivers"
)

// Multicast tests that a receiver joins a group on the loopback interface: with the flag join, and
// by listening at the group. message is one that it stores one sample of.
func Multicast(t *testing.T, c Case, join receivers.Flag, group string, message []byte) {
	lo := loopback(t)
	joined := group + "%" + lo.Name
	c.Options = map[string][]string{join.Name: {joined}}
	try, err := c.Protocol.New(receivers.Config{Address: "0.0.0.0:0", Options: c.Options}, new(Recorder))
	if err != nil {
		t.Skipf("joining %s: %v", joined, err)
	}
	_ = try.Close() // only tried
	for _, address := range []string{"0.0.0.0:0", group + ":0"} {
		t.Run(address, func(t *testing.T) {
			if conn, err := net.Dial("udp4", group+":9"); err == nil {
				_ = conn.Close() // nothing was sent
			} else if address != "0.0.0.0:0" {
				t.Skipf("no route to %s: it cannot be joined without naming an interface", group)
			}
			c := c
			c.Address = address
			r := Start(t, c, new(Recorder), nil)
			_, port, err := net.SplitHostPort(r.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			sendMulticast(t, lo, net.JoinHostPort(group, port), message)
			r.UntilSamples(1)
		})
	}
}

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
