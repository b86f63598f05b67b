package server

import (
	"net"
	"os"
	"testing"

	"github.com/rondo-db/rondo/receivers"
)

// TestAdoptBoth: of systemd's sockets for a protocol over TCP and UDP only the first was used.
func TestAdoptBoth(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // nothing was sent
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pc.Close() }) // nothing was sent
	stream, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	datagrams, err := pc.(*net.UDPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	both := receivers.Protocol{Network: "tcp+udp"}
	for _, tt := range []struct {
		files    []*os.File
		networks []string
		tcp, udp bool
		fails    bool
	}{
		{[]*os.File{stream, datagrams}, both.Sockets(), true, true, false},
		{[]*os.File{datagrams, stream}, both.Sockets(), true, true, false},
		{[]*os.File{datagrams}, both.Sockets(), false, true, false},
		{[]*os.File{stream}, []string{"tcp"}, true, false, false},
		{[]*os.File{stream}, []string{"udp"}, false, false, true},
	} {
		var c receivers.Config
		err := adopt(&c, tt.networks, tt.files)
		if (err != nil) != tt.fails || (c.Listener != nil) != tt.tcp || (c.PacketConn != nil) != tt.udp {
			t.Errorf("%v of %d sockets: TCP %v, UDP %v, %v", tt.networks, len(tt.files), c.Listener, c.PacketConn, err)
		}
		if c.Listener != nil {
			_ = c.Listener.Close() // a copy
		}
		if c.PacketConn != nil {
			_ = c.PacketConn.Close() // a copy
		}
	}
}
