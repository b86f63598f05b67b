package rrdcached_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/query/rrd/rrdcached"
)

// ended waits for the peer's connection to end.
func (p *peer) ended() {
	p.t.Helper()
	if err := p.SetReadDeadline(time.Now().Add(patience)); err != nil {
		p.t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, p.r); err != nil && !strings.Contains(err.Error(), "reset") {
		p.t.Errorf("the connection does not end: %v", err)
	}
}

func TestLongLinesEndTheConnection(t *testing.T) {
	s := serve(t, rrdcached.Options{}, 0)
	for _, n := range []int{rrdcached.MaxLine - 6, rrdcached.MaxLine - 5} {
		p := dial(t, s.addr)
		p.expect("PING "+strings.Repeat("x", n)+"\nPING\n", "0 PONG\n0 PONG\n")
	}
	p := dial(t, s.addr)
	p.expect("PING\r\nPING "+strings.Repeat("x", rrdcached.MaxLine-6)+"\r\n", "0 PONG\n0 PONG\n")
	for _, text := range []string{
		"PING " + strings.Repeat("x", rrdcached.MaxLine-4) + "\n",
		strings.Repeat("x", rrdcached.MaxLine+1),
		"PING\\\n", "\\\n", "UPDA\\",
	} {
		p := dial(t, s.addr)
		p.send("PING\n" + text)
		if text == "UPDA\\" { // half a line is nothing
			if err := p.Conn.(*net.UnixConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
		}
		if got := p.line(); got != "0 PONG\n" {
			t.Errorf("before %.20q: %q", text, got)
		}
		p.ended()
	}
}

// TestGarbage sends what is made of pieces of requests, in any portions. The server must answer a
// PING on another connection after it, and hold little for it.
func TestGarbage(t *testing.T) {
	s := serve(t, rrdcached.Options{}, 0)
	good := dial(t, s.addr)
	good.expect("CREATE a.rrd"+definition+"\n", "0 RRD created OK\n")
	pieces := []string{
		"UPDATE ", "update", "a.rrd", " ", "\n", "\r\n", "\\", ":", "1000000100", "0x", "nan", "U", "BATCH\n", ".\n", "FETCH ", "FETCHBIN a.rrd AVERAGE 1 99999",
		"CREATE ", "DS:x:GAUGE:1:U:U ", "RRA:AVERAGE:0.5:1:1000000000 ", "LIST /\n", "INFO a.rrd\n", "STATS\n", "HELP\n", "SUSPENDALL\n", "TUNE a.rrd -h x:5\n",
		"../", "/", "\x00", "\xff", "-9223372036854775808", strings.Repeat("9", 400), "QUIT\n", "DUMP a.rrd\n", "LIST RECURSIVE /\n", "FIRST a.rrd -1\n", "1e308:1",
	}
	r := rand.New(rand.NewPCG(7, 8))
	for range 60 {
		p := dial(t, s.addr)
		go func() { _, _ = io.Copy(io.Discard, p.r) }() // what it answers does not matter
		for range 40 {
			var b strings.Builder
			for range r.IntN(20) {
				b.WriteString(pieces[r.IntN(len(pieces))])
			}
			if _, err := io.WriteString(p, b.String()); err != nil {
				break // it has disconnected
			}
		}
		_ = p.Close() // it may have been
	}
	good.expect("PING\nPENDING a.rrd\n", "0 PONG\n0 updates pending\n")
}

// TestStalledPeers: who sends and never reads is given up, and others are served meanwhile.
func TestStalledPeers(t *testing.T) {
	s := serve(t, rrdcached.Options{WriteTime: 200 * time.Millisecond}, 0)
	dial(t, s.addr).expect("CREATE a.rrd"+definition+"\n", "0 RRD created OK\n")
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	const peers = 20
	for range peers {
		p := dial(t, s.addr)
		go func() {
			flood := strings.Repeat("FETCH a.rrd AVERAGE 1000000000 1000900000\nHELP\n", 200)
			for {
				if _, err := io.WriteString(p, flood); err != nil {
					return
				}
			}
		}()
	}
	good := dial(t, s.addr)
	deadline := time.Now().Add(patience)
	for s.Stats().Stalled < peers {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d stalled peers given up", s.Stats().Stalled, peers)
		}
		if got := good.ask("PING"); got != "0 PONG\n" {
			t.Fatal(got)
		}
	}
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 256<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
}

func TestLimits(t *testing.T) {
	s := serve(t, rrdcached.Options{Conns: 2}, 0)
	first, second := dial(t, s.addr), dial(t, s.addr)
	first.expect("PING\n", "0 PONG\n")
	second.expect("PING\n", "0 PONG\n")
	third := dial(t, s.addr)
	if got := third.line(); got != "-1 Too many connections.\n" {
		t.Errorf("one too many: %q", got)
	}
	third.ended()
	if st := s.Stats(); st.Refused != 1 || st.Accepted != 2 {
		t.Errorf("got %+v", st)
	}
	dial(t, serve(t, rrdcached.Options{Idle: 50 * time.Millisecond}, 0).addr).ended()
}

func TestPermissions(t *testing.T) {
	allow, err := rrdcached.ParseCommands("update,Batch")
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, rrdcached.Options{}, allow)
	p := dial(t, s.addr)
	p.expect("PING\nUPDATE\nFOO\nWROTE x\n.\nFETCH x AVERAGE\n", "-1 Permission denied.\n-1 Usage: UPDATE <filename> <values> [<values> ...]\n"+
		"-1 Unknown command: FOO\n-1 Permission denied.\n-1 Can't use '.' here.\n-1 Permission denied.\n")
	p.expect("BATCH\nPING\nUPDATE x 1:1\nFOO\nHELP\n.\n", "0 Go ahead.  End with dot '.' on its own line.\n4 errors\n1 Permission denied.\n"+
		"2 No such file: "+s.base+"/x\n3 Unknown command: FOO\n4 Can't use 'HELP' here.\n")
	if got := p.ask("HELP PING"); !strings.HasPrefix(got, "4 Help for PING\nUsage: PING\n") {
		t.Errorf("HELP: %q", got)
	}
	p.send("QUIT\n")
	p.ended()
	if only, err := rrdcached.ParseCommands("UPDATE"); err != nil {
		t.Fatal(err)
	} else {
		dial(t, serve(t, rrdcached.Options{}, only).addr).expect("BATCH\n.\n", "-1 Permission denied.\n-1 Permission denied.\n")
	}
	for _, bad := range []string{"", "FOO", "WROTE", ".", "UPDATE FOO"} {
		if _, err := rrdcached.ParseCommands(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// TestErrorsOfABatchAreBounded: so many errors that not all are listed.
func TestErrorsOfABatchAreBounded(t *testing.T) {
	s := serve(t, rrdcached.Options{}, 0)
	p := dial(t, s.addr)
	p.send("BATCH\n")
	const errors = 9000
	line := "UPDATE " + strings.Repeat("x", 1000) + " 1:1\n"
	for range errors {
		p.send(line)
	}
	p.send(".\nPING\n")
	p.line()
	answer := p.answer()
	if n := strings.Count(answer, "\n"); n < 1000 || n >= errors || len(answer) > 5<<20 || !strings.Contains(answer, "further errors are not shown") {
		t.Errorf("%d lines, %d bytes", n, len(answer))
	}
	if got := p.line(); got != "0 PONG\n" {
		t.Error(got)
	}
}

// TestServerEndsWithItsPeers: what was sent before is stored, and answered.
func TestServerEndsWithItsPeers(t *testing.T) {
	s := serve(t, rrdcached.Options{}, 0)
	p, idle := dial(t, s.addr), dial(t, s.addr)
	p.expect("CREATE a.rrd"+definition+"\n", "0 RRD created OK\n")
	idle.expect("PING\n", "0 PONG\n")
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "UPDATE a.rrd %d:1\n", 1_000_000_010+i*10)
	}
	p.send(b.String())
	for range 1000 {
		if got := p.line(); got != "0 errors, enqueued 1 value(s).\n" {
			t.Fatal(got)
		}
	}
	s.stop()
	p.ended()
	idle.ended()
	ref, err := s.store.Lookup("a.rrd")
	if err != nil {
		t.Fatal(err)
	}
	if last, err := s.store.Last(ref); err != nil || last.Unix() != 1_000_010_000 {
		t.Errorf("last update %v, %v", last.Unix(), err)
	}
}
