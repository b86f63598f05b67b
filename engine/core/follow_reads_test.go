package core_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// A readLog is a log whose readers know what stands where: the record of each tick has a sample of
// every series, a pair of series is created by one record, and a text says which tick it is.
type readLog struct {
	log   *waltest.Stream
	lead  *core.Store
	refs  []core.Ref
	ticks []int64 // by position: the last tick up to it
	pairs []int   // by position: the pairs up to it
}

const readSeries = 30

func newReadLog(t *testing.T, ticks int) *readLog {
	t.Helper()
	l := &readLog{log: waltest.NewStream(1)}
	l.lead = mustOpen(t, t.TempDir(), shared(core.Options{NoBackground: true}, l.log))
	mustPromote(t, l.lead)
	defs := []*rra.Definition{
		testDefinition(t, "DS:x:GAUGE:100:U:U", "DS:y:GAUGE:100:U:U", "RRA:AVERAGE:0.5:1:400"),
		testDefinition(t, "DS:x:GAUGE:100:U:U", "DS:y:GAUGE:100:U:U", "RRA:AVERAGE:0.5:1:500"),
	}
	for i := range readSeries {
		l.refs = append(l.refs, mustCreate(t, l.lead, fmt.Sprintf("s/%d", i), defs[i%2]))
	}
	pairs := 0
	l.note(0, 0)
	for tick := int64(1); tick <= int64(ticks); tick++ {
		var b core.Batch
		for i, ref := range l.refs {
			v := float64(tick) * float64(i+1)
			b.Add(ref, rra.Seconds(programStart+10*tick), rra.Float(v), rra.Float(3*v))
		}
		mustAppend(t, l.lead, &b)
		l.note(tick, pairs)
		md := core.Metadata{Time: rra.Seconds(programStart + tick), Text: fmt.Sprint(tick)}
		if _, err := l.lead.SetMetadata(t.Context(), []core.PathMetadata{{Path: "tick", Metadata: md}}); err != nil {
			t.Fatal(err)
		}
		if tick%4 == 0 {
			l.note(tick, pairs)
			l.pair(t, pairs, defs[0])
			pairs++
		}
		l.note(tick, pairs)
	}
	return l
}

// note records what is there at the end of the log, and at positions before it that were not
// recorded yet.
func (l *readLog) note(tick int64, pairs int) {
	for len(l.ticks) <= int(l.log.Reader().Last()) {
		l.ticks, l.pairs = append(l.ticks, tick), append(l.pairs, pairs)
	}
}

// pair creates two series by one record.
func (l *readLog) pair(t *testing.T, n int, def *rra.Definition) {
	t.Helper()
	var specs []core.Spec
	for _, name := range []string{"a", "b"} {
		specs = append(specs, core.Spec{
			Path: fmt.Sprintf("pair/%d/%s", n, name), Definition: def, Start: rra.Seconds(programStart),
			Labels: []core.Label{{Name: "pair", Value: fmt.Sprint(n)}},
		})
	}
	out, err := l.lead.CreateBatch(t.Context(), specs)
	if err != nil || out[0].Err != nil || out[1].Err != nil {
		t.Fatal(out, err)
	}
}

// A followReader reads a follower while it follows. What it sees is a state between two positions:
// the store's before the call, and the last that was given to it when the call has returned.
type followReader struct {
	l    *readLog
	s    *core.Store
	tap  *tap
	seen []int64 // the last tick of each series
	last wal.Pos
	text int64
	n    int // reads
}

// position returns the store's position, which never goes back.
func (f *followReader) position() (wal.Pos, error) {
	p := f.s.Position()
	st, _ := f.s.Standing()
	switch {
	case p < f.last || st.Position < p:
		return 0, fmt.Errorf("position %d after %d, then %d", p, f.last, st.Position)
	case st.Role != core.Follower || st.Err != nil || st.Newest < st.Position:
		return 0, fmt.Errorf("it stands as %+v", st)
	}
	f.last = p
	return p, nil
}

// most returns the newest position that was given to the store.
func (f *followReader) most() wal.Pos {
	_, given := f.tap.seen()
	if len(given) == 0 {
		return 0
	}
	return given[len(given)-1]
}

// rows checks the rows of series i: all up to some tick, and none behind it.
func (f *followReader) rows(i int, r *core.Rows, from wal.Pos) error {
	k := int64(0)
	for j := 0; j < len(r.Values); j += 2 {
		x, y := r.Values[j], r.Values[j+1]
		tick := (r.Start-programStart)/10 + int64(j/2) + 1
		switch {
		case math.IsNaN(x) && math.IsNaN(y):
		case x != float64(tick)*float64(i+1) || y != 3*x:
			return fmt.Errorf("series %d, tick %d: %v and %v", i, tick, x, y)
		case k != tick-1:
			return fmt.Errorf("series %d: tick %d is there, and the one after %d is not", i, tick, k)
		default:
			k = tick
		}
	}
	return f.between(i, k, from)
}

// between checks that tick k of series i may be the last one of a read that began at a position.
func (f *followReader) between(i int, k int64, from wal.Pos) error {
	if most := f.most(); k < f.l.ticks[from] || k > f.l.ticks[most] || k < f.seen[i] {
		return fmt.Errorf("series %d has tick %d after %d, between positions %d and %d, which have %d and %d", i, k, f.seen[i], from, most, f.l.ticks[from], f.l.ticks[most])
	}
	f.seen[i] = k
	f.n++
	return nil
}

// samples reads one series in the ways that there are.
func (f *followReader) samples(ctx context.Context) error {
	for i := range f.l.refs {
		from, err := f.position()
		if err != nil {
			return err
		}
		ref, err := f.s.Lookup(fmt.Sprintf("s/%d", i))
		if from >= wal.Pos(readSeries+1) && (err != nil || ref != f.l.refs[i]) {
			return fmt.Errorf("series %d at position %d: %d, %w", i, from, ref, err)
		}
		if err != nil {
			continue // it is not created yet
		}
		last, err := f.s.Last(ref)
		if err != nil {
			continue // it is created and has not begun
		}
		if err := f.between(i, max(0, (last.Unix()-programStart)/10), from); err != nil {
			return fmt.Errorf("last: %w", err)
		}
		end := int64(programStart + 10*len(f.l.ticks))
		rows, err := f.s.Fetch(ctx, ref, 0, programStart, end)
		if err == nil {
			err = f.rows(i, &rows, from)
		}
		if err != nil {
			return fmt.Errorf("fetch: %w", err)
		}
	}
	return nil
}

// many reads all series at once.
func (f *followReader) many(ctx context.Context) error {
	from, err := f.position()
	if err != nil || from < wal.Pos(readSeries+1) {
		return err
	}
	end := int64(programStart + 10*len(f.l.ticks))
	err = f.s.FetchMany(ctx, core.Spans(f.l.refs, 0, programStart, end), func(i int, r *core.Rows, e error) {
		if e == nil {
			e = f.rows(i, r, from)
		}
		if e != nil && err == nil {
			err = e
		}
	})
	return err
}

// names reads names, labels and metadata: of two series that one record creates, both are there or
// none.
func (f *followReader) names(ctx context.Context) error {
	from, err := f.position()
	if err != nil {
		return err
	}
	for n := range f.l.pairs[len(f.l.pairs)-1] {
		for what, list := range map[string]func(yield func(core.Series, error) bool){
			"list":   f.s.Select(ctx, core.Query{Prefix: fmt.Sprintf("pair/%d/", n), Order: core.ByPath}),
			"select": f.s.Select(ctx, core.Query{Matchers: []core.Matcher{{Name: "pair", Value: fmt.Sprint(n)}}, Order: core.ByRef}),
		} {
			count := 0
			for x, err := range list {
				if err != nil || x.Labels[0].Value != fmt.Sprint(n) {
					return fmt.Errorf("%s: %v, %w", what, x, err)
				}
				count++
			}
			most := f.most()
			if count == 1 || count < 2 && n < f.l.pairs[from] || count > 0 && n >= f.l.pairs[most] {
				return fmt.Errorf("%s: %d series of pair %d, between positions %d and %d", what, count, n, from, most)
			}
			f.n++
		}
	}
	for x, err := range f.s.ListMetadata(ctx, core.MetadataQuery{Prefix: "tick"}) {
		text := int64(0)
		if _, e := fmt.Sscan(x.Metadata.Text, &text); err != nil || e != nil || text < f.text || text > f.l.ticks[f.most()] {
			return fmt.Errorf("metadata %+v after %d: %w, %w", x, f.text, err, e)
		}
		f.text = text
	}
	return nil
}

// TestReadsWhileFollowing reads a follower in every way while it follows and writes checkpoints.
// Each read sees whole records, those up to the position before it at least, and nothing that it has
// seen goes away.
func TestReadsWhileFollowing(t *testing.T) {
	l := newReadLog(t, seedtest.Often(120, 300))
	tp := newTap(l.log, readSeries/2)
	s := mustOpen(t, t.TempDir(), tp.options(core.Options{NoBackground: true}))
	last := l.log.Reader().Last()
	ctx := t.Context()
	var reads atomic.Int64
	var wg sync.WaitGroup
	stop := make(chan struct{})
	loop := func(what string, fn func(*followReader) error) {
		wg.Go(func() {
			f := &followReader{l: l, s: s, tap: tp, seen: make([]int64, readSeries)}
			defer func() { reads.Add(int64(f.n)) }()
			for done := false; !done; {
				select {
				case <-stop:
					done = true // and once more: all is there
				default:
				}
				if err := fn(f); err != nil {
					t.Errorf("%s: %v", what, err)
					return
				}
			}
			if f.last != last {
				t.Errorf("%s: the last position is %d, want %d", what, f.last, last)
			}
		})
	}
	loop("samples", func(f *followReader) error { return f.samples(ctx) })
	loop("many", func(f *followReader) error { return f.many(ctx) })
	loop("names", func(f *followReader) error { return f.names(ctx) })
	loop("checkpoint", func(f *followReader) error {
		if _, err := f.position(); err != nil {
			return err
		}
		s.UnloadIdle()
		return s.Checkpoint(ctx)
	})
	for p := wal.Pos(readSeries / 2); p <= last; p += 3 { // small steps, so that readers see many states
		tp.turn(p)
		awaitAt(t, s, p)
	}
	tp.all()
	awaitAt(t, s, last)
	close(stop)
	wg.Wait()
	t.Logf("%d reads during %d records", reads.Load(), last)
	same(t, "at the end", s, l.lead)
	mustClose(t, s.Close())
	mustClose(t, l.lead.Close())
}

// TestFollowerAtEachPosition lets a follower stop at each position of a log: it holds what the leader
// held there, byte for byte, whatever checkpoints there were.
func TestFollowerAtEachPosition(t *testing.T) {
	l := newFollowerless(t)
	dirs := []string{t.TempDir(), t.TempDir()}
	var stores []*core.Store
	var taps []*tap
	for _, dir := range dirs {
		tp := newTap(l.log, 0)
		taps = append(taps, tp)
		stores = append(stores, mustOpen(t, dir, tp.options(core.Options{NoBackground: true})))
	}
	f := newFeeder(t, l.lead, 20)
	for i := range 40 {
		switch i % 8 {
		case 3:
			mustClose(t, l.lead.Rename(t.Context(), "host/1", "host/x"))
		case 5:
			mustClose(t, l.lead.Rename(t.Context(), "host/x", "host/1"))
		case 7:
			mustClose(t, core.Drop(t.Context(), l.lead, fmt.Sprintf("host/%d", len(f.refs)-1)))
			f.refs = f.refs[:len(f.refs)-1]
		default:
			f.mustFeed(1)
		}
		at := l.log.Reader().Last()
		for j, s := range stores {
			taps[j].turn(at)
			awaitAt(t, s, at)
			if st, _ := s.Standing(); st.Position != at || st.Role != core.Follower {
				t.Fatalf("it stands as %+v, want position %d", st, at)
			}
			same(t, fmt.Sprintf("position %d", at), s, l.lead)
		}
		if i%5 == 4 {
			mustClose(t, stores[0].Checkpoint(t.Context()))
			mustClose(t, stores[0].Abandon())
			stores[0] = mustOpen(t, dirs[0], taps[0].options(core.Options{NoBackground: true}))
		}
	}
	for _, s := range append(stores, l.lead) {
		mustClose(t, s.Close())
	}
}

// newFollowerless returns an empty log and its leader.
func newFollowerless(t *testing.T) *readLog {
	t.Helper()
	l := &readLog{log: waltest.NewStream(1)}
	l.lead = mustOpen(t, t.TempDir(), shared(core.Options{NoBackground: true}, l.log))
	mustPromote(t, l.lead)
	return l
}
