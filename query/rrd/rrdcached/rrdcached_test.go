package rrdcached_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// A served is a server under test.
type served struct {
	*rrdcached.Server
	store *core.Store
	base  string
	addr  net.Addr
	stop  func()
}

// serve runs a server at a unix socket until the test is over.
func serve(t testing.TB, o rrdcached.Options, allow rrdcached.Commands) *served {
	t.Helper()
	if o.Store == nil {
		o.Store = enginetest.Open(t)
	}
	if o.Base == "" {
		o.Base = shortDir(t)
	}
	s, err := rrdcached.New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := rrdcached.Listen(rrdcached.Address{Network: "unix", Addr: filepath.Join(shortDir(t), "s")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l, rrdcached.Access{Allow: allow}) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("serve: %v", err)
			}
		case <-time.After(patience):
			t.Error("the server does not end")
		}
		s.Close()
	}
	t.Cleanup(stop)
	store, _ := o.Store.(*core.Store)
	return &served{s, store, o.Base, l.Addr(), stop}
}

// shortDir returns a folder whose name is so short that a socket in it can have a name.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a temporary folder
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A peer is a client that sends what a test gives it.
type peer struct {
	t testing.TB
	net.Conn
	r *bufio.Reader
}

func dial(t testing.TB, a net.Addr) *peer {
	t.Helper()
	c, err := net.Dial(a.Network(), a.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // the test may have
	return &peer{t, c, bufio.NewReaderSize(c, 1<<16)}
}

func (p *peer) send(text string) {
	p.t.Helper()
	if err := p.SetDeadline(time.Now().Add(patience)); err != nil {
		p.t.Fatal(err)
	}
	if _, err := io.WriteString(p, text); err != nil {
		p.t.Fatalf("send %.100q: %v", text, err)
	}
}

// line reads one line; empty: the connection has ended.
func (p *peer) line() string {
	p.t.Helper()
	line, err := p.r.ReadString('\n')
	if err != nil && line == "" {
		if os.IsTimeout(err) {
			p.t.Fatalf("no answer: %v", err)
		}
		return ""
	}
	return line
}

// answer reads one answer, with its lines.
func (p *peer) answer() string {
	p.t.Helper()
	first := p.line()
	n, _ := strconv.Atoi(first[:max(0, strings.IndexByte(first, ' '))])
	var b strings.Builder
	b.WriteString(first)
	for range max(n, 0) {
		line := p.line()
		b.WriteString(line)
		if i := strings.Index(line, ": BinaryData "); i >= 0 {
			var rows, size int
			if _, err := fmt.Sscanf(line[i:], ": BinaryData %d %d", &rows, &size); err != nil {
				p.t.Fatal(err)
			}
			data := make([]byte, rows*size+1)
			if _, err := io.ReadFull(p.r, data); err != nil {
				p.t.Fatal(err)
			}
			b.Write(data)
		}
	}
	return b.String()
}

// ask sends one request and reads its answer.
func (p *peer) ask(request string) string {
	p.t.Helper()
	p.send(request + "\n")
	return p.answer()
}

// expect sends requests and compares what is answered to all of them.
func (p *peer) expect(requests, want string) {
	p.t.Helper()
	p.send(requests)
	got := make([]byte, len(want))
	n, err := io.ReadFull(p.r, got)
	if err != nil || !bytes.Equal(got, []byte(want)) {
		p.t.Errorf("%q:\ngot  %q (%v)\nwant %q", requests, got[:n], err, want)
	}
}

const definition = " -s 10 -b 1000000000 DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:10 RRA:MAX:0.5:6:10"

func TestFirstSteps(t *testing.T) {
	s := serve(t, rrdcached.Options{}, 0)
	p := dial(t, s.addr)
	p.expect("PING\n", "0 PONG\n")
	p.expect("create a.rrd"+definition+"\n", "0 RRD created OK\n")
	p.expect("update a.rrd 1000000010:1 1000000020:2.5\nUPDATE a.rrd 1000000020:1\n",
		"0 errors, enqueued 2 value(s).\n-1 illegal attempt to update using time 1000000020.000000 "+
			"when last update time is 1000000020.000000 (minimum one second step)\n")
	p.expect("BATCH\nUPDATE a.rrd 1000000030:1\nUPDATE b.rrd 1000000030:1\nPING\nUPDATE a.rrd 1000000040:1:2\n.\n",
		"0 Go ahead.  End with dot '.' on its own line.\n3 errors\n2 No such file: "+s.base+"/b.rrd\n3 Can't use 'PING' here.\n"+
			"4 found extra data on update argument: 2\n")
	p.expect("FETCH "+s.base+"/a.rrd AVERAGE 1000000000 1000000029\n", "9 Success\nFlushVersion: 1\nStart: 1000000000\n"+
		"End: 1000000030\nStep: 10\nDSCount: 1\nDSName: x\n1000000010: 1.00000000000000000e+00\n"+
		"1000000020: 2.50000000000000000e+00\n1000000030: 1.00000000000000000e+00\n")
	p.expect("LAST a.rrd\nFIRST a.rrd 0\nLIST /\nQUIT\n", "0 1000000030\n0 999999940\n1 RRDs\na.rrd\n")
	if got := p.line(); got != "" {
		t.Errorf("after QUIT: %q", got)
	}
}

// TestOwnSeries: series of the server's own are in a list of their folder, and of no other.
func TestOwnSeries(t *testing.T) {
	s := serve(t, rrdcached.Options{Own: "rondo"}, 0)
	p := dial(t, s.addr)
	for _, name := range []string{"rondo/cpu", "rondo.rrd", "rondo2/a.rrd"} {
		p.expect("CREATE "+name+definition+"\n", "0 RRD created OK\n")
	}
	p.expect("LIST /\nLIST RECURSIVE /\nLIST /rondo\n", "2 RRDs\nrondo.rrd\nrondo2\n2 RRDs\nrondo.rrd\nrondo2/a.rrd\n1 RRDs\ncpu\n")
}
