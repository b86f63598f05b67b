package mono

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// A puppet is an agent that answers requests as a test asks.
type puppet struct {
	t        testing.TB
	conn     net.Conn
	requests chan Request
	ended    chan error // why reading has ended
}

// newPuppet connects an agent that has announced cs.
func newPuppet(t testing.TB, r *receivertest.Running, d Dialect, cs ...Counter) *puppet {
	t.Helper()
	p := &puppet{t: t, requests: make(chan Request, 100), ended: make(chan error, 1)}
	p.conn = send(t, r, must(AppendHello(nil, cs)))
	go func() {
		in := bufio.NewReader(p.conn)
		for {
			r, err := ReadRequest(in, d)
			if err != nil {
				p.ended <- err
				return
			}
			p.requests <- r
		}
	}()
	return p
}

// next returns the next request.
func (p *puppet) next() Request {
	p.t.Helper()
	select {
	case r := <-p.requests:
		return r
	case <-time.After(time.Minute):
		p.t.Fatal("no request within a minute")
		return Request{}
	}
}

func (p *puppet) send(b []byte) {
	p.t.Helper()
	if _, err := p.conn.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

// An outcome is what Control has returned.
type outcome struct {
	receivers.Table
	err error
}

func (o outcome) String() string {
	if o.err != nil {
		return "error: " + o.err.Error()
	}
	var lines []string
	for _, r := range o.Rows {
		lines = append(lines, strings.Join(r, "|"))
	}
	return strings.Join(lines, "\n")
}

// control begins a command.
func control(t testing.TB, r *receivertest.Running, args ...string) <-chan outcome {
	t.Helper()
	out := make(chan outcome, 1)
	go func() {
		table, err := r.Receiver.(receivers.Controller).Control(context.Background(), args)
		out <- outcome{table, err}
	}()
	return out
}

func result(t testing.TB, c <-chan outcome) string {
	t.Helper()
	select {
	case o := <-c:
		return o.String()
	case <-time.After(time.Minute):
		t.Fatal("no outcome within a minute")
		return ""
	}
}

// announced waits until the receiver has taken what n agents have announced.
func announced(t testing.TB, r *receivertest.Running, n int) {
	t.Helper()
	eventually(t, "agents have said hello", func() bool { return r.Stats().Packets >= uint64(n) })
}

// TestControl: requests and their answers in both dialects, mixed with samples.
func TestControl(t *testing.T) {
	for _, d := range []Dialect{PageDialect, AgentDialect} {
		t.Run(d.String(), func(t *testing.T) {
			rec := new(receivertest.Recorder)
			r := start(t, rec, flagDialect.Name, d.String())
			heap := Counter{Category: GC, Name: "Heap/used", Type: Long, Unit: Bytes, Variance: Variable, Index: 4}
			p := newPuppet(t, r, d, suiteCounter)
			announced(t, r, 1)
			p.send(message(0))
			r.UntilSamples(1)

			pair := func(category, name string) Pair {
				if d == AgentDialect {
					return Pair{category, name}
				}
				return Pair{name, category}
			}
			out := control(t, r, "list", "127.0.0.1")
			if got := p.next(); got.Command != ListRequest {
				t.Fatalf("request %+v, want list", got)
			}
			p.send(message(1)) // the answer takes its time
			p.send(must(AppendList(nil, []Pair{pair("Mono GC", "Heap/used"), pair("Mono Custom", "suite"), pair("Odd", "one")})))
			if got, want := result(t, out), "Mono GC|Heap/used|||||\nMono Custom|suite|3|long|none|monotonic|1\nOdd|one|||||"; got != want {
				t.Errorf("list:\n%s\nwant:\n%s", got, want)
			}

			out = control(t, r, "add", "127.0.0.1", "Mono GC/Heap/used")
			if got, want := p.next(), (Request{Command: AddRequest, Category: "Mono GC", Name: "Heap/used"}); got != want {
				t.Fatalf("request %+v, want %+v", got, want)
			}
			p.send(must(AppendAdded(message(2), OK, &heap)))
			if got, want := result(t, out), "Mono GC|Heap/used|4|long|bytes|variable"; got != want {
				t.Errorf("add: %s, want %s", got, want)
			}
			p.send(must(AppendSample(nil, at(3), []Value{{4, Long, 5}})))
			r.UntilSamples(5)

			for i, s := range []Status{NotFound, Existing, NotOK} {
				out = control(t, r, "add", "127.0.0.1", "Mono GC/nothing")
				p.next()
				p.send(must(AppendAdded(nil, s, nil)))
				if got, want := result(t, out), []string{"not found", "existing", "not ok"}[i]; !strings.Contains(got, want) || !strings.Contains(got, "error: agent 127.0.0.1: ") {
					t.Errorf("status %v: %s", s, got)
				}
			}

			out = control(t, r, "remove", "127.0.0.1", "Mono Custom/suite")
			if got, want := p.next(), (Request{Command: RemoveRequest, Index: 3}); got != want {
				t.Fatalf("request %+v, want %+v", got, want)
			}
			p.send(append(must(AppendSample(nil, at(4), nil)), AppendRemoved(nil, OK)...)) // before its answer it has its value
			p.send(must(AppendSample(nil, at(5), nil)))
			if got, want := result(t, out), "Mono Custom|suite|3|long|none|monotonic"; got != want {
				t.Errorf("remove: %s, want %s", got, want)
			}
			out = control(t, r, "remove", "127.0.0.1", "4")
			p.next()
			p.send(AppendRemoved(nil, NotFound))
			if got := result(t, out); !strings.Contains(got, "not found") {
				t.Errorf("remove: %s", got)
			}
			p.send(must(AppendSample(nil, at(6), nil)))
			r.UntilSamples(9)
			r.Stop()
			got := make(map[string][]rra.Time)
			for _, s := range rec.Samples() {
				got[s.Path] = append(got[s.Path], s.At-rra.Seconds(receivertest.Epoch))
			}
			want := map[string][]rra.Time{
				"mono/127.0.0.1/Mono Custom/suite":                  {0, 1e6, 2e6, 3e6, 4e6},
				"mono/127.0.0.1/Mono GC/Heap_used~0dfb3893e5ee5a10": {3e6, 4e6, 5e6, 6e6},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("times of samples (-want +got):\n%s", diff)
			}
			if got := p.next(); got.Command != GoodByeRequest {
				t.Errorf("request %+v, want good bye", got)
			}
			if st := r.Stats(); st.Dropped != [receivers.NumReasons]uint64{} {
				t.Errorf("stats %+v, want no drop", st)
			}
		})
	}
}

// TestControlPeers: agents are distinguished, and what is not there is reported.
func TestControlPeers(t *testing.T) {
	r := start(t, new(receivertest.Recorder))
	refuse := func(want string, args ...string) {
		t.Helper()
		if got := result(t, control(t, r, args...)); !strings.Contains(got, "error: ") || !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %q", args, got, want)
		}
	}
	refuse("no agent is connected", "list", "127.0.0.1")
	refuse("no agent is connected", "list", "")
	if got := result(t, control(t, r, "peers")); got != "" {
		t.Errorf("peers: %s, want none", got)
	}
	first := newPuppet(t, r, PageDialect, suiteCounter)
	announced(t, r, 1)
	out := control(t, r, "list", "")
	first.next()
	first.send(must(AppendList(nil, nil)))
	if got := result(t, out); got != "" {
		t.Errorf("list of the only one: %s", got)
	}
	second := newPuppet(t, r, PageDialect)
	announced(t, r, 3)
	first.send(message(0))
	r.UntilSamples(1)
	got := result(t, control(t, r, "peers"))
	since := time.Unix(receivertest.Now, 0).UTC().Format(time.RFC3339)
	if want := fmt.Sprintf("127.0.0.1|%s|1|1|2023-11-14T22:13:20Z\n127.0.0.1#2|%s|0|0|", since, since); got != want {
		t.Errorf("peers:\n%s\nwant:\n%s", got, want)
	}
	refuse("several agents are connected: 127.0.0.1, 127.0.0.1#2", "list", "")
	refuse(`no agent "127.0.0.1#3" is connected, but 127.0.0.1, 127.0.0.1#2`, "list", "127.0.0.1#3")
	refuse("no command", []string{}...)
	refuse(`"dance" is none of`, "dance", "127.0.0.1")
	refuse("want list PEER", "list")
	refuse("want peers", "peers", "127.0.0.1")
	refuse("want add PEER CATEGORY/NAME", "add", "127.0.0.1")
	refuse("want remove PEER CATEGORY/NAME|INDEX", "remove", "127.0.0.1", "1", "2")
	refuse("no CATEGORY/NAME", "add", "127.0.0.1", "Mono GC")
	refuse("empty name", "add", "127.0.0.1", "Mono GC/")
	refuse("neither CATEGORY/NAME nor an index", "remove", "127.0.0.1", "all")
	refuse("negative", "remove", "127.0.0.1", "-1")
	refuse("no counter with the index 7", "remove", "127.0.0.1", "7")
	refuse("neither CATEGORY/NAME nor an index", "remove", "127.0.0.1", "70000")
	refuse("is not sampled", "remove", "127.0.0.1#2", "Mono Custom/suite")
	refuse("is sampled already, with the index 3", "add", "127.0.0.1", "Mono Custom/suite")
	for _, p := range []*puppet{first, second} {
		if len(p.requests) > 0 {
			t.Errorf("asked for %+v", p.next())
		}
	}
}

// TestControlNoAnswer: an answer that does not come is waited for until the caller goes, and found
// when it comes; an agent that goes without one ends the wait.
func TestControlNoAnswer(t *testing.T) {
	r := start(t, new(receivertest.Recorder))
	p := newPuppet(t, r, PageDialect, suiteCounter)
	announced(t, r, 1)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := r.Receiver.(receivers.Controller).Control(ctx, []string{"add", "", "Mono GC/a"})
		gone <- err
	}()
	p.next()
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if got := result(t, control(t, r, "add", "", "Mono GC/a")); !strings.Contains(got, "has not answered") {
		t.Errorf("asked again: %s", got) // would make a real agent hang up
	}
	second := control(t, r, "add", "", "Mono GC/b")
	p.next()
	p.send(must(AppendAdded(nil, NotFound, nil)))
	p.send(must(AppendAdded(nil, OK, &Counter{Category: GC, Name: "b", Index: 9})))
	if got, want := result(t, second), "Mono GC|b|9|int|none|variance-0"; got != want {
		t.Errorf("the second request is answered by %s, want %s", got, want)
	}
	first, second := control(t, r, "remove", "", "9"), control(t, r, "remove", "", "3")
	p.next()
	p.next()
	list := control(t, r, "list", "")
	p.next()
	p.send(must(AppendList(nil, nil)))
	if got := result(t, first); !strings.Contains(got, "passed the request over") {
		t.Errorf("passed over: %s", got)
	}
	if got := result(t, second); !strings.Contains(got, "passed the request over") {
		t.Errorf("passed over: %s", got)
	}
	if got := result(t, list); got != "" {
		t.Errorf("list: %s", got)
	}
	last := control(t, r, "remove", "", "3")
	p.next()
	_ = p.conn.Close() // the agent has gone
	if got := result(t, last); !strings.Contains(got, "has gone") {
		t.Errorf("the agent has gone: %s", got)
	}
}

// TestControlSilence: an agent that does not answer is not waited for for ever.
func TestControlSilence(t *testing.T) {
	r := startSink(t, new(receivertest.Recorder), func(s *server) { s.answerTime = time.Millisecond })
	p := newPuppet(t, r, PageDialect)
	announced(t, r, 1)
	if got := result(t, control(t, r, "list", "")); !strings.Contains(got, "does not answer") {
		t.Errorf("list: %s", got)
	}
	p.next()
}

// TestUnasked: answers to nothing are counted and change nothing, but for a counter that is
// announced by one.
func TestUnasked(t *testing.T) {
	rec := new(receivertest.Recorder)
	r := start(t, rec)
	p := newPuppet(t, r, PageDialect, suiteCounter)
	p.send(slices.Concat(
		message(0), AppendRemoved(nil, OK), must(AppendList(nil, []Pair{{"a", "b"}})), must(AppendAdded(nil, NotFound, nil)),
		must(AppendAdded(nil, OK, &Counter{Category: GC, Name: "b", Index: 9})), must(AppendSample(nil, at(1), []Value{{9, Int, 1}})),
	))
	r.UntilSamples(3)
	r.Stop()
	if st := r.Stats(); st.Dropped[receivers.State] != 4 {
		t.Errorf("stats %+v, want four of state dropped", st)
	}
}

// TestAdd: every agent is asked for what was named, unless it has announced it.
func TestAdd(t *testing.T) {
	r := start(t, new(receivertest.Recorder), flagAdd.Name, "Mono GC/a", flagAdd.Name, "Mono Custom/suite", flagAdd.Name, "Mono JIT/b/c")
	for range 2 {
		p := newPuppet(t, r, PageDialect, suiteCounter)
		want := []Request{{Command: AddRequest, Category: "Mono GC", Name: "a"}, {Command: AddRequest, Category: "Mono JIT", Name: "b/c"}}
		if got := []Request{p.next(), p.next()}; !slices.Equal(got, want) {
			t.Errorf("asked for %+v, want %+v", got, want)
		}
		p.send(must(AppendAdded(nil, NotFound, nil)))
		p.send(must(AppendAdded(nil, OK, &Counter{Category: JIT, Name: "b/c", Index: 0})))
	}
	announced(t, r, 6)
	r.Stop()
	if st := r.Stats(); st.Dropped != [receivers.NumReasons]uint64{} {
		t.Errorf("stats %+v, want no drop", st)
	}
}

// TestAgentThatDoesNotRead: requests to an agent that reads nothing end, its samples are taken, and
// it does not hold up the end.
func TestAgentThatDoesNotRead(t *testing.T) {
	rec := new(receivertest.Recorder)
	r := start(t, rec)
	conn := send(t, r, suite(t).Opening)
	announced(t, r, 1)
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	for i := range maxAsked {
		asking.Go(func() {
			_, err := r.Receiver.(receivers.Controller).Control(ctx, []string{"add", "", fmt.Sprintf("Mono GC/%s%d", strings.Repeat("x", 1000), i)})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want %v", err, context.Canceled)
			}
		})
	}
	one := r.Receiver.(*server)
	eventually(t, "all have asked", func() bool {
		a, err := one.peer("")
		if err != nil {
			t.Fatal(err)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.asked) == maxAsked
	})
	if got := result(t, control(t, r, "list", "")); !strings.Contains(got, "has 1024 requests to answer") {
		t.Errorf("one more: %s", got)
	}
	if _, err := conn.Write(message(0)); err != nil {
		t.Fatal(err)
	}
	r.UntilSamples(1)
	cancel()
	asking.Wait()
	r.Stop()
	if _, err := io.Copy(io.Discard, conn); err != nil {
		t.Errorf("read at last: %v", err)
	}
}
