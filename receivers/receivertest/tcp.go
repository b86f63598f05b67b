package receivertest

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers"
)

// tcpSteps returns the further tests of a receiver over TCP: tests of limits and of greedy peers
// only if the case names them.
func tcpSteps(c Case) []step {
	steps := []step{
		{"takes messages in any pieces", pieces},
		{"takes messages byte by byte", bytewise},
		{"is not held up by a stalled peer", stalledPeer},
		{"keeps nothing of a message that is cut off", cutOff},
		{"closes when the peer has finished", finished},
		{"takes nothing from a browser", browser},
	}
	if !c.Named {
		steps = append(steps, step{"tells peers of one address apart", names})
	}
	if c.Limits.Conns != "" {
		steps = append(steps,
			step{"limits connections", func(t *testing.T, c Case) { connLimit(t, c, c.Limits.Conns) }},
			step{"closes a silent connection where a new one needs its place", yields})
	}
	if c.Limits.HostConns != "" {
		steps = append(steps, step{"limits connections of an address", func(t *testing.T, c Case) { connLimit(t, c, c.Limits.HostConns) }})
	}
	if c.Limits.Idle != "" {
		steps = append(steps, step{"closes connections that are idle", idle})
	}
	if len(c.Greedy) > 0 {
		steps = append(steps, step{"holds little of peers that announce much", greedy})
	}
	return steps
}

// browser acts as a web page that makes a browser send the protocol's bytes, as the body of an HTTP
// request, to the receiver's port.
func browser(t *testing.T, c Case) {
	r := Start(t, c, new(Recorder), nil)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: waitFor}
	for i, body := range [][]byte{c.begin(0, 3), append(bytes.Repeat([]byte{0xff}, 64), c.begin(0, 3)...)} {
		resp, err := client.Post("http://"+r.Addr().String()+"/", "text/plain", bytes.NewReader(body))
		if err == nil {
			_ = resp.Body.Close() // it has nothing
			t.Errorf("the answer to HTTP is %s", resp.Status)
		}
		eventually(t, "the connection is counted", func() bool { return r.Stats().Dropped[receivers.Foreign] == uint64(i+1) })
	}
	// The first sample that is stored comes from a good sender.
	r.write(r.Dial(), c.begin(7, 1))
	for n, s := range r.UntilSamples(1) {
		c.check(t, s, 7+n)
	}
}

func pieces(t *testing.T, c Case) {
	r := Start(t, c, new(Recorder), nil)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	const most = 200
	conn := r.Dial()
	for b := c.begin(0, most); len(b) > 0; {
		n := 1 + rnd.IntN(min(len(b), 1+rnd.IntN(100)))
		r.write(conn, b[:n])
		b = b[n:]
	}
	r.UntilSamples(most)
	for n, s := range r.Recorder.Samples() {
		c.check(t, s, n)
	}
}

func bytewise(t *testing.T, c Case) {
	r := Start(t, c, new(Recorder), nil)
	conn := r.Dial()
	for i, b := range c.begin(0, 3) {
		r.write(conn, []byte{b})
		eventually(t, "a byte is read", func() bool { return r.Stats().Bytes == uint64(i+1) })
	}
	for n, s := range r.UntilSamples(3) {
		c.check(t, s, n)
	}
}

func stalledPeer(t *testing.T, c Case) {
	r := Start(t, c, new(Recorder), nil)
	stalled := r.Dial()
	b := c.begin(0, 1)
	last := len(b) - 1
	r.write(stalled, b[:last])
	eventually(t, "all but a byte is read", func() bool { return r.Stats().Bytes == uint64(last) })
	for n := range 10 {
		r.Send(c.Message(n))
		c.check(t, r.UntilSamples(n + 1)[n], n)
	}
	r.write(stalled, b[last:])
	s := r.UntilSamples(11)
	c.check(t, s[10], 0)
	if (s[10].Path == s[0].Path) != c.Named {
		t.Errorf("the peers write %q and %q", s[0].Path, s[10].Path)
	}
}

func cutOff(t *testing.T, c Case) {
	for _, how := range []string{"closed", "reset"} {
		t.Run(how, func(t *testing.T) {
			rec := new(Recorder)
			r := Start(t, c, rec, nil)
			whole, more := c.begin(0, 1), c.Message(1)
			conn := r.Dial()
			r.write(conn, append(whole, more[:len(more)-1]...))
			sent := uint64(len(whole) + len(more) - 1)
			r.UntilSamples(1)
			eventually(t, "all is read", func() bool { return r.Stats().Bytes == sent })
			if tcp, ok := conn.(*net.TCPConn); ok && how == "reset" {
				if err := tcp.SetLinger(0); err != nil {
					t.Fatal(err)
				}
			}
			_ = conn.Close() // reported where the other side sees it
			r.hangUp()
			r.Send(c.Message(2))
			s := r.UntilSamples(2)
			c.check(t, s[0], 0)
			c.check(t, s[1], 2)
			if s[1].Path != s[0].Path {
				t.Errorf("the next peer writes %q, want %q", s[1].Path, s[0].Path)
			}
		})
	}
}

func finished(t *testing.T, c Case) {
	r := Start(t, c, new(Recorder), nil)
	conn, ok := r.Dial().(*net.TCPConn)
	if !ok {
		t.Skip("the connection has no half to close")
	}
	r.write(conn, c.begin(0, 1))
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	untilClosed(t, conn)
	c.check(t, r.UntilSamples(1)[0], 0)
	r.hangUp()
}

func names(t *testing.T, c Case) {
	r := Start(t, c, new(Recorder), nil)
	conns := make([]net.Conn, 3)
	var paths []string
	for i := range conns {
		conns[i] = r.Dial()
		r.write(conns[i], c.begin(i, 1))
		paths = append(paths, r.UntilSamples(i + 1)[i].Path)
	}
	if paths[0] == paths[1] || paths[1] == paths[2] || paths[0] == paths[2] {
		t.Errorf("three peers write %q", paths)
	}
	_ = conns[1].Close() // reported where the other side sees it
	eventually(t, "it is gone", func() bool { return r.Stats().Connections == 2 })
	r.Send(c.Message(10))
	if got := r.UntilSamples(4)[3]; got.Path != paths[1] {
		t.Errorf("a peer after the second has gone writes %q, want %q", got.Path, paths[1])
	}
	r.write(conns[0], c.Message(11))
	if got := r.UntilSamples(5)[4]; got.Path != paths[0] {
		t.Errorf("the first peer now writes %q, want %q", got.Path, paths[0])
	}
}

// withFlag starts a receiver with one more flag.
func withFlag(t *testing.T, c Case, flag, value string) *Running {
	t.Helper()
	return Start(t, c, new(Recorder), func(cfg *receivers.Config) {
		cfg.Options = withOption(cfg.Options, flag, value)
	})
}

// withOption returns options with one more, or another value of it.
func withOption(options map[string][]string, flag, value string) map[string][]string {
	options = maps.Clone(options)
	if options == nil {
		options = make(map[string][]string)
	}
	options[flag] = []string{value}
	return options
}

func connLimit(t *testing.T, c Case, flag string) {
	const most = 3
	r := withFlag(t, c, flag, strconv.Itoa(most))
	conns := make([]net.Conn, most)
	for i := range conns {
		conns[i] = r.Dial()
		r.write(conns[i], c.begin(i, 1))
		r.UntilSamples(i + 1)
	}
	for range 2 {
		untilClosed(t, r.Dial())
	}
	if st := r.Stats(); st.Connections != most || st.Dropped[receivers.Limit] != 2 {
		t.Errorf("stats %+v, want %d connections and 2 refused for the limit", st, most)
	}
	_ = conns[0].Close() // reported where the other side sees it
	eventually(t, "it is gone", func() bool { return r.Stats().Connections == most-1 })
	r.Send(c.Message(10))
	c.check(t, r.UntilSamples(most + 1)[most], 10)
	r.write(conns[1], c.Message(11)) // it was not disturbed
	c.check(t, r.UntilSamples(most + 2)[most+1], 11)
}

func idle(t *testing.T, c Case) {
	r := withFlag(t, c, c.Limits.Idle, "1s")
	whole := c.begin(0, 1)
	var conns []net.Conn
	for _, b := range [][]byte{nil, c.Opening, whole, whole[:len(whole)-1]} {
		conn := r.Dial()
		r.write(conn, b)
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		untilClosed(t, conn)
	}
	eventually(t, "no peer is connected", func() bool { return r.Stats().Connections == 0 })
	r.Stop()
	s := r.Recorder.Samples()
	if len(s) != 1 {
		t.Fatalf("samples %v, want the one that was whole", s)
	}
	c.check(t, s[0], 0)
}

// yields: connections that were opened and left alone kept everybody else out.
func yields(t *testing.T, c Case) {
	r := Start(t, c, new(Recorder), func(cfg *receivers.Config) {
		cfg.Options = withOption(cfg.Options, c.Limits.Conns, "1")
		cfg.Yield = time.Nanosecond
	})
	silent := r.Dial()
	r.write(silent, c.begin(0, 1))
	path := r.UntilSamples(1)[0].Path
	// While the receiver still works on the silent peer's bytes, it refuses the new peer.
	eventually(t, "a new peer has the place", func() bool {
		refused := r.Stats().Dropped[receivers.Limit]
		_, _ = r.Dial().Write(c.begin(1, 1)) // the receiver may be faster
		taken := func() bool { return len(r.Recorder.Samples()) > 1 }
		eventually(t, "it is taken or refused", func() bool { return taken() || r.Stats().Dropped[receivers.Limit] > refused })
		return taken()
	})
	untilClosed(t, silent)
	s := r.UntilSamples(2)[1]
	c.check(t, s, 1)
	if s.Path != path {
		t.Errorf("the new peer writes %q, want %q", s.Path, path)
	}
	eventually(t, "one peer is connected", func() bool { return r.Stats().Connections == 1 })
}

// heldBytes is how many bytes of memory a peer may cost that has sent next to nothing: its
// goroutine, its read buffer, and the test's own end of the connection.
const heldBytes = 96 << 10

func greedy(t *testing.T, c Case) {
	r := Start(t, c, new(Recorder), nil)
	r.Send(c.Message(0)) // so that what the receiver makes once is there
	r.UntilSamples(1)
	sent := r.Stats().Bytes
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	allowed := uint64(0)
	for range 64 / len(c.Greedy) {
		for _, b := range c.Greedy {
			r.write(r.Dial(), b)
			sent += uint64(len(b))
			allowed += heldBytes + 8*uint64(len(b))
		}
	}
	eventually(t, "all is read", func() bool { return r.Stats().Bytes == sent })
	runtime.GC()
	runtime.ReadMemStats(&after)
	used := func(m *runtime.MemStats) uint64 { return m.HeapAlloc + m.StackInuse }
	if now, was := used(&after), used(&before); now > was+allowed {
		t.Errorf("%d bytes from %d peers hold %d bytes, more than %d", sent, r.Stats().Connections, now-was, allowed)
	}
	r.Send(c.Message(1))
	c.check(t, r.UntilSamples(2)[1], 1)
}
