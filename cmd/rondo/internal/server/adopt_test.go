package server

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
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

// TestRRDCachedSocketOfSystemd: a socket that was handed over is used in place of the address, with
// the commands of that.
func TestRRDCachedSocketOfSystemd(t *testing.T) {
	a, err := rrdcached.ParseAddress("127.0.0.1:0?allow=PING")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := l.(*net.UnixListener).File()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Config: Config{
		RRDCached: RRDCached{Addresses: []rrdcached.Address{a}},
	}.withDefaults(), store: enginetest.Open(t), activated: map[string][]*os.File{"rrdcached": {f}}}
	d, err := s.listenRRDCached(func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	defer d.stop()
	if len(d.addrs) != 1 || d.addrs[0].Network() != "unix" {
		t.Fatalf("listening at %v", d.addrs)
	}
	c, err := net.Dial("unix", d.addrs[0].String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "PING\nSTATS\n"); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); err != nil || string(got) != "0 PONG\n-1 Permission denied.\n" {
		t.Errorf("got %q, %v", got, err)
	}
	_ = c.Close() // all was read
	_ = l.Close() // the server has its own copy
}
