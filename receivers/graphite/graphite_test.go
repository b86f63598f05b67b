package graphite_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/graphite"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

var limits = receivertest.ConnLimits{Conns: "graphite-connections", HostConns: "graphite-host-connections", Idle: "graphite-idle"}

// over returns a protocol as one that is only over one network.
func over(network string, p receivers.Protocol) receivers.Protocol {
	p.Network = network
	return p
}

func line(n int) []byte { return fmt.Appendf(nil, "a.b %d %d\n", n, receivertest.Epoch+n) }

var badLines = [][]byte{
	[]byte("x\n"), []byte("x 1\n"), []byte("x 1 2 3\n"), []byte("x 1 soon\n"), []byte("x one 1700000000\n"),
	[]byte("x nan 1700000000\n"), []byte("x 0x1p3 1700000000\n"), []byte("x 1 1700000000000000\n"), []byte("x 1 0\n"),
	[]byte(" . 1 1700000000\n"), []byte("x;y 1 1700000000\n"), []byte("x;__name__=a 1 1700000000\n"),
	bytes.Repeat([]byte("9"), 60_000), append(bytes.Repeat([]byte("a."), 2000), " 1 1700000000\n"...),
}

// TestSuiteTCP, TestSuiteUDP, TestSuitePickle: each does what every receiver must do.
func TestSuiteTCP(t *testing.T) {
	receivertest.Run(t, receivertest.Case{
		Protocol: over("tcp", graphite.Protocol), Message: line, Named: true, Garbage: badLines, Limits: limits,
		Greedy: [][]byte{[]byte("a"), bytes.Repeat([]byte("a"), graphite.MaxLine)},
	})
}

func TestSuiteUDP(t *testing.T) {
	receivertest.Run(t, receivertest.Case{Protocol: over("udp", graphite.Protocol), Message: line, Named: true, Garbage: badLines})
}

// framed returns a pickle with its length in front.
func framed(pickle []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(pickle))), pickle...)
}

// pickled returns the pickle of [(name, (second, value))], of protocol 2.
func pickled(name string, second, value int) []byte {
	b := append([]byte("\x80\x02]q\x00"), 'X')
	b = binary.LittleEndian.AppendUint32(b, uint32(len(name)))
	b = append(b, name...)
	b = append(b, 'J')
	b = binary.LittleEndian.AppendUint32(b, uint32(second))
	b = append(b, 'G')
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(float64(value)))
	return append(b, "\x86\x86a."...)
}

func TestSuitePickle(t *testing.T) {
	receivertest.Run(t, receivertest.Case{
		Protocol: graphite.Pickle,
		Message:  func(n int) []byte { return framed(pickled("a.b", receivertest.Epoch+n, n)) },
		Named:    true,
		Limits:   limits,
		Garbage: [][]byte{
			framed(nil), framed([]byte(".")), framed([]byte("]")), []byte("hello, world"), []byte("\x00\x10\x00\x01"),
			framed([]byte("cos\nsystem\n(S'true'\ntR.")), framed([]byte("(lp0\n(g0\ng0\nta.")), framed([]byte("]q\x00h\x00a.")),
			framed(pickled("", receivertest.Epoch, 1)), framed(pickled("x", 1, 1)), framed(pickled("x;y", receivertest.Epoch, 1)),
			framed([]byte("r\xff\xff\xff\xff.")), framed(bytes.Repeat([]byte("("), 100_000)),
		},
		Greedy: [][]byte{[]byte("\x00\x10\x00\x00"), []byte("\x00\x0f\xff\xff]")},
	})
}

// TestIdentity: components become folders, tags stand behind them, and series with other tags have
// other paths.
func TestIdentity(t *testing.T) {
	paths := make(map[string]string)
	for _, tt := range []struct{ name, path, labels string }{
		{"servers.web1.load", "graphite/servers/web1/load", "__name__=servers_web1_load"},
		{"a..b.", "graphite/a/b", "__name__=a_b"},
		{"1min.x-y", "graphite/1min/x-y", "__name__=_1min_x_y"},
		{"µ.x:y_z", "graphite/µ/x:y_z", "__name__=__x:y_z"},
		{"µ.x:y/z", "graphite/µ/x:y_z~", "__name__=__x:y_z"},
		{"cpu;host=web.1;dc=a", "graphite/cpu;dc=a;host=web.1", "__name__=cpu dc=a host=web.1"},
		{"cpu;dc=a;host=web.1", "graphite/cpu;dc=a;host=web.1", "__name__=cpu dc=a host=web.1"},
		{"cpu;a=1;a=2", "graphite/cpu;a=2", "__name__=cpu a=2"},
		{"d;p=a_b", "graphite/d;p=a_b", "__name__=d p=a_b"},
		{"d;p=a/b", "graphite/d;p=a_b~", "__name__=d p=a/b"},
		{"d;p=a\x01b", "graphite/d;p=a_b~", "__name__=d p=a_b"},
		{"d;p=\xff", "graphite/d;p=\uFFFD~", "__name__=d p=\uFFFD"},
		{"d;p=\xfe", "graphite/d;p=\uFFFD~", "__name__=d p=\uFFFD"},
	} {
		n, err := graphite.ParseName([]byte(tt.name))
		if err != nil {
			t.Errorf("%q: %v", tt.name, err)
			continue
		}
		id := n.Identity("graphite")
		var labels []string
		for _, l := range id.Labels {
			labels = append(labels, l.Name+"="+l.Value)
		}
		path, _, hashed := strings.Cut(id.Path, "~")
		if hashed {
			path += "~"
		}
		if got := strings.Join(labels, " "); path != tt.path || got != tt.labels {
			t.Errorf("%q: %q, %q, want %q, %q", tt.name, path, got, tt.path, tt.labels)
		}
		if other, ok := paths[id.Path]; ok && other != n.String() {
			t.Errorf("%q and %q have one path, %q", other, n, id.Path)
		}
		paths[id.Path] = n.String()
	}
	for _, name := range []string{"", "...", ";a=b", "x;", "x;a", "x;a=", "x;=b", "x;a=~b", "x;a!=b", "x;a^=b", "x;__name__=b"} {
		if n, err := graphite.ParseName([]byte(name)); err == nil {
			t.Errorf("%q is taken as %q", name, n)
		}
	}
}
