package statsd

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
)

// nodes returns n receivers over one store, as the nodes of a cluster have them, and their clock.
func nodes(t *testing.T, n int, o core.Options, options ...string) (store *core.Store, servers []*server, now *time.Time) {
	t.Helper()
	store, err := core.Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	now = new(time.Unix(1_600_000_000, 0))
	for range n {
		servers = append(servers, node(t, store, now, options...))
	}
	return store, servers, now
}

// node returns one more receiver over a store.
func node(t *testing.T, store *core.Store, now *time.Time, options ...string) *server {
	t.Helper()
	cfg := receivers.Config{Address: "127.0.0.1:0", Now: func() time.Time { return *now }, Options: make(map[string][]string)}
	for i := 0; i < len(options); i += 2 {
		cfg.Options[options[i]] = []string{options[i+1]}
	}
	r, err := newServer(cfg, sink.New(store, sink.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r.(*server)
}

// take takes lines with spaces between them.
func (s *server) take(lines string) {
	c := source{server: s, host: "h", now: s.cfg.Now().Unix()}
	for line := range strings.FieldsSeq(lines) {
		c.line([]byte(line))
	}
}

// rowsOf returns the rows of a data source of a series from one second to another, and their step.
func rowsOf(t *testing.T, store *core.Store, path string, source int, from, to int64) (rows []float64, step float64) {
	t.Helper()
	ref, err := store.Lookup(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := store.Fetch(t.Context(), ref, 0, from, to)
	if err != nil {
		t.Fatal(err)
	}
	info, err := store.Series(ref)
	if err != nil {
		t.Fatal(err)
	}
	n := len(info.Definition.Sources)
	for i := source; i < len(got.Values); i += n {
		rows = append(rows, got.Values[i])
	}
	return rows, float64(got.Step)
}

// countedIn returns how much the rows of a data source have counted.
func countedIn(t *testing.T, store *core.Store, path string, source int, from, to int64) (sum float64) {
	t.Helper()
	rows, step := rowsOf(t, store, path, source, from, to)
	for _, v := range rows {
		if !math.IsNaN(v) {
			sum += v * step
		}
	}
	return sum
}

// TestLinesOfOneMetricAtSeveralNodes: all nodes flush at the same second. The store took one sample
// of it, and what the other nodes had counted was lost.
func TestLinesOfOneMetricAtSeveralNodes(t *testing.T) {
	for name, o := range map[string]core.Options{"": {}, "reorder": {Reorder: 5 * time.Second}} {
		for _, n := range []int{1, 2, 3, 5} {
			t.Run(fmt.Sprintf("%s/nodes=%d", name, n), func(t *testing.T) {
				store, servers, now := nodes(t, n, o)
				begin, sent := now.Unix(), 0
				for i := range 12 {
					for k, s := range servers {
						if i < 10 && (i+k)%4 != 3 { // now and then a node gets none
							s.take("hits:50|c page:7:9|ms")
							sent++
						}
					}
					if i == 5 { // one starts anew within a step, and another one is slow
						*now = now.Add(3 * time.Second)
						servers[0].flush(t.Context(), now.Unix(), true)
						servers[0] = node(t, store, now)
						servers[0].take("hits:50|c page:7:9|ms")
						sent++
						*now = now.Add(-3 * time.Second)
					}
					*now = now.Add(10 * time.Second)
					for k := range servers { // in another order each time
						servers[(k+i)%n].flush(t.Context(), now.Unix(), false)
					}
				}
				for path, want := range map[string][]float64{"counters/hits": {50}, "timers/page": {2, 16}} {
					for source, each := range want {
						got := countedIn(t, store, "statsd/"+path, source, begin, now.Unix())
						if want := each * float64(sent); math.Abs(got-want) > 1e-6*want && o.Reorder == 0 || got > want+1e-6 || got < want*0.9 {
							t.Errorf("%s, %d: %v was counted, the rows have %v", path, source, want, got)
						}
					}
				}
				for k, s := range servers {
					if d := s.Stats().Dropped; d != [receivers.NumReasons]uint64{} {
						t.Errorf("node %d has dropped %v", k, d)
					}
				}
			})
		}
	}
}

// TestBalancedBitForBit: where idle metrics have no samples, and a client sends what it has counted
// in one datagram a step, three nodes fill the same series as one machine, to the last bit.
func TestBalancedBitForBit(t *testing.T) {
	fill := func(n int, next func() int) map[string]string {
		store, servers, now := nodes(t, n, core.Options{}, "statsd-delete-idle", "true")
		for i := range 60 {
			if i%7 < 5 {
				servers[next()%n].take(fmt.Sprintf("hits:%d|c|@0.3 load:%d.7|g page:%d:9.1|ms users:u%d|s users:v|s", i, i*i%17, i%5, i%3))
			}
			*now = now.Add(10 * time.Second)
			for k := range servers {
				servers[(k+i)%n].flush(t.Context(), now.Unix(), false)
			}
			if i%20 == 9 {
				servers[i/20%n] = node(t, store, now, "statsd-delete-idle", "true")
			}
		}
		all := make(map[string]string)
		for x, err := range store.Select(t.Context(), core.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			c, err := store.Export(t.Context(), x.Ref)
			if err != nil {
				t.Fatal(err)
			}
			all[x.Path] = fmt.Sprintf("%x %q %v", c.State.W, c.State.Text, c.Rows)
		}
		return all
	}
	want := fill(1, func() int { return 0 })
	if len(want) != 4 {
		t.Errorf("there are %d series", len(want))
	}
	turn, r := 0, rand.New(rand.NewPCG(1, 1))
	for name, next := range map[string]func() int{"in turn": func() int { turn++; return turn }, "at random": func() int { return r.IntN(3) }} {
		got := fill(3, next)
		for path, x := range want {
			if got[path] != x {
				t.Errorf("%s, %s:\n%.900s\none machine:\n%.900s", name, path, got[path], x)
			}
		}
	}
}

// TestOneNodeHasRowsOfItsOwn: with one node each count stands in the row of its flush, as it was
// sent.
func TestOneNodeHasRowsOfItsOwn(t *testing.T) {
	store, servers, now := nodes(t, 1, core.Options{})
	begin := now.Unix()
	for i := range 10 {
		servers[0].take(fmt.Sprintf("hits:%d|c", 10*i))
		*now = now.Add(10 * time.Second)
		servers[0].flush(t.Context(), now.Unix(), false)
	}
	rows, _ := rowsOf(t, store, "statsd/counters/hits", 0, begin, now.Unix())
	for i, v := range rows[:10] {
		if v != float64(i) {
			t.Errorf("row %d is %v", i, v)
		}
	}
}

// TestDroppedSeriesLosesNothing: a dropped series lost two flushes, and a metric that was idle then
// kept the reference of a series that was not there any more.
func TestDroppedSeriesLosesNothing(t *testing.T) {
	for _, idle := range []string{"false", "true"} {
		store, servers, now := nodes(t, 1, core.Options{}, "statsd-delete-idle", idle)
		s := servers[0]
		tick := func(lines string) {
			s.take(lines)
			*now = now.Add(10 * time.Second)
			s.flush(t.Context(), now.Unix(), false)
		}
		tick("a:1|c b:1|c g:1|g")
		for _, p := range []string{"counters/a", "counters/b", "gauges/g"} {
			if err := core.Drop(t.Context(), store, "statsd/"+p); err != nil {
				t.Fatal(err)
			}
		}
		begin := now.Unix()
		for range 6 {
			tick("a:10|c")
		}
		tick("a:10|c b:7|c g:3|g")
		if got := countedIn(t, store, "statsd/counters/a", 0, begin, now.Unix()); math.Abs(got-70) > 1e-6 {
			t.Errorf("delete-idle=%s: a has %v of 70", idle, got)
		}
		if got := countedIn(t, store, "statsd/counters/b", 0, begin, now.Unix()); math.Abs(got-7) > 1e-6 {
			t.Errorf("delete-idle=%s: b has %v of 7", idle, got)
		}
		if rows, _ := rowsOf(t, store, "statsd/gauges/g", 0, now.Unix()-10, now.Unix()); rows[0] != 3 && idle == "false" {
			t.Errorf("the gauge is %v", rows)
		}
		if d := s.Stats().Dropped; d != [receivers.NumReasons]uint64{} {
			t.Errorf("delete-idle=%s: dropped %v", idle, d)
		}
	}
}

// A tally counts lines of a log.
type tally struct{ n *atomic.Int64 }

func (l tally) Write(b []byte) (int, error) {
	l.n.Add(1)
	return len(b), nil
}

// TestClockIsSet: when the clock was set back, nothing was flushed until it had caught up, and all
// counts came in one row. Now a flush comes each step all the same. What the store refuses is
// counted, and said once.
func TestClockIsSet(t *testing.T) {
	const hour, year = time.Hour, 365 * 24 * time.Hour
	for _, step := range []time.Duration{time.Second, 10 * time.Second} {
		for _, set := range []time.Duration{
			20 * time.Second, -20 * time.Second, 10 * time.Second, -10 * time.Second, 7 * time.Second, -7 * time.Second, -3 * time.Second,
			hour, -hour, 5 * hour, -5 * hour, 40 * year, -40 * year,
		} {
			t.Run(fmt.Sprintf("step=%v/set=%v", step, set), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { clockIsSet(t, step, set) }) })
		}
	}
}

func clockIsSet(t *testing.T, step, set time.Duration) {
	store, err := core.Open(t.TempDir(), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	var offset, lines atomic.Int64
	offset.Store(int64(50 * 365 * 24 * time.Hour))
	clock := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	cfg := receivers.Config{Address: "127.0.0.1:0", Now: clock, Options: map[string][]string{"statsd-step": {step.String()}}}
	cfg.Logger = slog.New(slog.NewTextHandler(tally{&lines}, nil))
	r, err := newServer(cfg, sink.New(store, sink.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	s := r.(*server)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.flushByClock(t.Context())
	}()
	sent := 0
	run := func(steps int) (from, to int64) {
		from = clock().Unix()
		for range steps {
			time.Sleep(step / 2)
			s.take("hits:1|c")
			sent++
			time.Sleep(step - step/2)
		}
		synctest.Wait()
		return from, clock().Unix()
	}
	got, each := 0.0, step.Seconds()
	count := func(from, to int64) {
		rows, _ := rowsOf(t, store, "statsd/counters/hits", 0, from-1, to)
		for _, v := range rows {
			if !math.IsNaN(v) {
				got += v * each
			}
			if v*each > 1.8 {
				t.Errorf("%v events in a row, want 1", v*each)
			}
		}
	}
	from, to := run(8)
	if set > 0 {
		count(from, to)
	}
	offset.Add(int64(set))
	back := 8
	if set < 0 && set >= -20*time.Second {
		back += int(-set / step)
	}
	from2, to2 := run(back)
	switch {
	case set > 0:
		count(from2, to2)
	case set < -time.Minute: // all is late
		count(from, to)
	default:
		count(min(from, from2), max(to, to2))
	}
	late := s.Stats().Dropped[receivers.Late]
	if n := got + float64(late); n < float64(sent)-2.5 || n > float64(sent)+1 {
		t.Errorf("%d events were sent; the rows have %v, and %d samples were late", sent, got, late)
	}
	if set > 0 && late > 0 || late > 0 != (lines.Load() > 0) || lines.Load() > 1 {
		t.Errorf("%d samples were late, the log has %d lines", late, lines.Load())
	}
}

// An odd is a sink that says what one of a cluster says, beside what its store says.
type odd struct {
	receivers.Sink
	says      func(b *core.Batch) error // nil: what the store says
	asked     int                       // requests for series
	submitted int                       // samples
}

func (o *odd) Resolve(ctx context.Context, reqs []receivers.Request) error {
	o.asked += len(reqs)
	return o.Sink.Resolve(ctx, reqs)
}

func (o *odd) Submit(ctx context.Context, b *core.Batch) (receivers.Pending, error) {
	o.submitted += b.Len()
	p, err := o.Sink.Submit(ctx, b)
	if o.says == nil || err != nil {
		return p, err
	}
	if err := p.Wait(); err != nil {
		return nil, err
	}
	return saying{o.says(b)}, nil
}

type saying struct{ err error }

func (s saying) Wait() error { return s.err }

// TestAnswersOfACluster: samples whose partition is out of reach are counted as such, and the
// others are stored. Samples that were stored for a promise are not handed over again, but all
// references are asked for again.
func TestAnswersOfACluster(t *testing.T) {
	store, _, now := nodes(t, 0, core.Options{})
	s := node(t, store, now)
	o := &odd{Sink: s.sink}
	s.sink, s.asks = o, receivers.NewResolver(o, s.cfg, prefix)
	tick := func() {
		s.take("a:1|c b:2|c c:3|g")
		*now = now.Add(10 * time.Second)
		s.flush(t.Context(), now.Unix(), false)
	}
	begin := now.Unix()
	tick()
	o.says = func(b *core.Batch) error {
		return &core.RejectedError{Accepted: b.Len(), First: []core.Rejection{{Err: core.ErrNotFound}}}
	}
	tick()
	o.says = func(b *core.Batch) error {
		return &core.PartialError{Err: core.ErrUnavailable, Missing: []int{1}, Samples: b.Len()}
	}
	tick()
	if o.asked != 6 || o.submitted != 5+3+3 {
		t.Errorf("%d series were asked for and %d samples handed over, want 6 and 11", o.asked, o.submitted)
	}
	d := s.Stats().Dropped
	if d[receivers.Overload] != 1 || d[receivers.State]+d[receivers.Late]+d[receivers.Failed] != 0 {
		t.Errorf("dropped %v, want one for overload", d)
	}
	if got := countedIn(t, store, "statsd/counters/a", 0, begin, now.Unix()); math.Abs(got-3) > 1e-9 {
		t.Errorf("a has %v of 3", got)
	}
}
