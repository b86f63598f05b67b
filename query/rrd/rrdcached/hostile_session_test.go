package rrdcached_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
)

// sessionMemory is how much the heap may grow under all attacks at once.
const sessionMemory = 300 << 20

// An attack is what one hostile client does on a connection. It returns when the server has ended
// that, or when it has done all. What cannot be written any more does not matter.
type attack struct {
	name  string
	peers int
	run   func(t *testing.T, c net.Conn, r *rand.Rand)
}

// flood writes a text n times, and reads nothing.
func flood(text string, n int) func(*testing.T, net.Conn, *rand.Rand) {
	data := []byte(text)
	return func(_ *testing.T, c net.Conn, _ *rand.Rand) {
		for range n {
			if _, err := c.Write(data); err != nil {
				return
			}
		}
	}
}

// deaf is flood by a client whose answers are so many that it is given up.
func deaf(text string) func(*testing.T, net.Conn, *rand.Rand) {
	return flood(text, 1<<20)
}

// talk is flood by a client that reads its answers, and waits for the server's end of the
// connection after the last.
func talk(text string, n int) func(*testing.T, net.Conn, *rand.Rand) {
	send := flood(text, n)
	return func(t *testing.T, c net.Conn, r *rand.Rand) {
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = io.Copy(io.Discard, c) // what it answers does not matter
		}()
		send(t, c, r)
		if u, ok := c.(*net.UnixConn); ok {
			_ = u.CloseWrite() // it may have ended
		}
		<-read
	}
}

var attacks = []attack{
	{"byte by byte", 4, func(t *testing.T, c net.Conn, r *rand.Rand) {
		for _, b := range []byte("UPDATE a.rrd 1000000100:1\nPING\nFETCH a.rrd AVERAGE 1 2\n") {
			flood(string(b), 1)(t, c, r)
		}
		talk("\n", 1)(t, c, r)
	}},
	{"half a line", 40, func(t *testing.T, c net.Conn, r *rand.Rand) {
		flood("UPDATE a.rrd "+strings.Repeat("1", 8000), 1)(t, c, r)
		_, _ = c.Read(make([]byte, 1)) // until it is closed for its silence
	}},
	{"too long a line", 10, talk(strings.Repeat("x", 100_000), 100)},
	{"8191 bytes", 4, talk("PING "+strings.Repeat("x", rrdcached.MaxLine-5)+"\n", 2000)},
	{"BATCH in BATCH", 4, talk("BATCH\n", 30_000)},
	{"BATCH without an end", 40, talk("BATCH\n"+strings.Repeat("UPDATE "+strings.Repeat("x", 900)+" 1:1\n", 6000), 1)},
	{"errors in a BATCH", 4, talk("BATCH\n"+strings.Repeat("UPDATE nosuch.rrd 1:1\n", 10_000)+".\n", 4)},
	{"deaf to HELP", 8, deaf(strings.Repeat("HELP\n", 4000))},
	{"deaf to INFO", 8, deaf(strings.Repeat("INFO wide.rrd\n", 2000))},
	{"deaf to LIST", 8, deaf(strings.Repeat("LIST RECURSIVE /\n", 2000))},
	{"deaf to FETCH", 8, deaf(strings.Repeat("FETCH a.rrd AVERAGE 900000000 1000000000\n", 500))},
	{"deaf to FETCHBIN", 4, deaf(strings.Repeat("FETCHBIN wide.rrd LAST 900000000 900100000\n", 500))},
	{"deaf to DUMP", 4, deaf("DUMP wide.rrd\n")},
	{"deaf to errors", 8, deaf(strings.Repeat("UPDATE nosuch.rrd\n", 4000))},
	{"junk", 8, func(t *testing.T, c net.Conn, r *rand.Rand) {
		b := make([]byte, 64<<10)
		for i := range b {
			if b[i] = byte(r.Uint32()); r.IntN(40) == 0 {
				b[i] = '\n'
			}
		}
		talk(string(b), 20)(t, c, r)
	}},
	{"sizes of terabytes", 2, talk("CREATE huge.rrd -s 1 -b 1000000000 DS:x:GAUGE:2000000000:U:U RRA:AVERAGE:0.5:1:2000000000 RRA:MAX:0.5:2:2147483647\n"+
		"UPDATE huge.rrd 1000000001:1\nUPDATE huge.rrd 1010000000:1\nFETCH huge.rrd AVERAGE 1 1700000000\nFETCHBIN huge.rrd AVERAGE 1 1700000000\n"+
		"CREATE huge.rrd -s 1 -b 1000000000 DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:99999999999999\n"+
		"CREATE huge.rrd -s 1 -b 1000000000 DS:x:GAUGE:20:U:U RRA:HWPREDICT:2000000000:0.1:0.1:2000000000\n"+
		"CREATE huge.rrd -s 1 -b 1000000000"+strings.Repeat(" DS:x:GAUGE:20:U:U", 400)+" RRA:AVERAGE:0.5:1:9\n", 3)},
	{"very many values", 4, talk("UPDATE a.rrd"+strings.Repeat(" 1000000100:1", 600)+"\nUPDATE a.rrd 1000000100"+strings.Repeat(":1", 4000)+"\n", 100)},
	{"names without end", 4, talk(strings.Repeat("FLUSH "+strings.Repeat("../", 2000)+"x\nUPDATE "+strings.Repeat("a/", 3000)+" 1:1\n", 50), 1)},
	{"hasty", 100, func(t *testing.T, c net.Conn, r *rand.Rand) { flood("PING\n", r.IntN(3))(t, c, r) }},
}

// TestHostileSessions has all attacks made at once. Meanwhile others are served, and the heap does
// not grow beyond what is said above.
func TestHostileSessions(t *testing.T) {
	// A busy machine lets the good one be idle for seconds.
	s := serve(t, rrdcached.Options{Conns: 500, WriteTime: time.Second, Idle: 10 * time.Second}, 0)
	good := dial(t, s.addr)
	good.expect("CREATE a.rrd"+definition+"\n", "0 RRD created OK\n")
	var wide strings.Builder
	for i := range 150 {
		fmt.Fprintf(&wide, " DS:d%d:GAUGE:20:U:U", i)
	}
	good.expect("CREATE wide.rrd -s 1 -b 1000000000"+wide.String()+" RRA:LAST:0:1:2000\n", "0 RRD created OK\n")
	for i := range 500 {
		if got := good.ask(fmt.Sprintf("CREATE list/%s%03d.rrd%s", strings.Repeat("long", 20), i, definition)); got != "0 RRD created OK\n" {
			t.Fatal(got)
		}
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, peak := m.HeapInuse, uint64(0)
	seed := seedtest.One(t)
	var running sync.WaitGroup
	for i, a := range attacks {
		for j := range a.peers {
			running.Go(func() {
				c, err := net.Dial(s.addr.Network(), s.addr.String())
				if err != nil {
					t.Errorf("%s: %v", a.name, err)
					return
				}
				defer func() { _ = c.Close() }() // the server may have ended it
				if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
					t.Error(err)
				}
				a.run(t, c, rand.New(rand.NewPCG(seed, uint64(1000*i+j))))
			})
		}
	}
	done := make(chan struct{})
	go func() {
		running.Wait()
		close(done)
	}()
	at, over := 1_000_001_000, false
	for !over {
		select {
		case <-done:
			over = true
		default:
		}
		at += 10
		if got := good.ask(fmt.Sprintf("UPDATE list/%s000.rrd %d:1", strings.Repeat("long", 20), at)); got != "0 errors, enqueued 1 value(s).\n" {
			t.Fatalf("another's update: %q", got)
		}
		runtime.ReadMemStats(&m)
		if int64(m.HeapInuse)-int64(before) > sessionMemory { // without what the collector had no time for
			runtime.GC()
			runtime.ReadMemStats(&m)
		}
		peak = max(peak, m.HeapInuse)
	}
	if grown := int64(peak) - int64(before); grown > sessionMemory {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	t.Logf("the heap grew by %d MiB from %d, %+v", (int64(peak)-int64(before))>>20, before>>20, s.Stats())
	for deadline := time.Now().Add(patience); s.Stats().Connections > 1; time.Sleep(time.Millisecond) {
		good.expect("PING\n", "0 PONG\n") // it must not be idle for as long as others may be
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are left", s.Stats().Connections)
		}
	}
	good.expect("PING\n", "0 PONG\n")
}

// TestConnectionsComeAndGo: more at once than there may be, and then many one after the other.
func TestConnectionsComeAndGo(t *testing.T) {
	const most, tried, hasty = 200, 1000, 1000
	s := serve(t, rrdcached.Options{Conns: most}, 0)
	var all []*peer
	served := 0
	for range tried {
		p := dial(t, s.addr)
		all = append(all, p)
		_, _ = io.WriteString(p, "PING\n") // it may have been refused
		switch got := p.line(); got {
		case "0 PONG\n":
			served++
		case "-1 Too many connections.\n":
		case "": // the request came when the server had closed, and the answer was lost by it
		default:
			t.Fatalf("got %q", got)
		}
	}
	if st := s.Stats(); served != most || st.Refused != tried-most || st.Connections != most {
		t.Errorf("%d served, %+v", served, st)
	}
	for _, p := range all {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(patience); s.Stats().Connections > 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are left", s.Stats().Connections)
		}
	}
	for range hasty {
		c, err := net.Dial(s.addr.Network(), s.addr.String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "PING\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := bufio.NewReader(c).ReadString('\n'); err != nil || got != "0 PONG\n" {
			t.Fatalf("%q, %v", got, err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
