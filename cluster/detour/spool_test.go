package detour_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/cluster/detour"
	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

var definition = &rra.Definition{
	Step:     1,
	Sources:  []rra.DataSource{{Name: "v", Kind: rra.Gauge, Heartbeat: 10, Min: math.NaN(), Max: math.NaN()}},
	Archives: []rra.Archive{{CF: rra.Average, XFF: 0.5, PDPs: 1, Rows: 1000}},
}

// A leader takes samples as an engine does: a sample that is not after the last one of its series
// is late.
type leader struct {
	core.Engine // nil
	mu          sync.Mutex
	paths       []string // of series, by Ref - 1
	got         map[string][]rra.Time

	// fail is asked before each call, and after a batch has been applied; nil: nothing fails.
	fail func(call string) error
}

func newLeader(paths ...string) *leader {
	return &leader{paths: paths, got: make(map[string][]rra.Time)}
}

func (l *leader) copy() *leader {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &leader{paths: slices.Clone(l.paths), got: maps.Clone(l.got)}
}

func (l *leader) ask(call string) error {
	if l.fail == nil {
		return nil
	}
	return l.fail(call)
}

func (l *leader) Lookup(path string) (core.Ref, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ask("lookup"); err != nil {
		return 0, err
	}
	if i := slices.Index(l.paths, path); i >= 0 {
		return core.Ref(i + 1), nil
	}
	return 0, core.ErrNotFound
}

func (l *leader) CreateBatch(_ context.Context, specs []core.Spec) ([]core.Created, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ask("create"); err != nil {
		return nil, err
	}
	made := make([]core.Created, len(specs))
	for i, s := range specs {
		if slices.Contains(l.paths, s.Path) {
			made[i].Err = core.ErrExists
		} else {
			l.paths = append(l.paths, s.Path)
		}
		made[i].Ref = core.Ref(slices.Index(l.paths, s.Path) + 1)
	}
	return made, nil
}

func (l *leader) Submit(_ context.Context, b *core.Batch, t *core.Ticket) error {
	t.Begin()
	t.Complete(l.store(b))
	return nil
}

func (l *leader) store(b *core.Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ask("append"); err != nil {
		return err
	}
	r := core.RejectedError{First: []core.Rejection{{Err: errors.New("late")}}}
	for s := range b.All() {
		path := l.paths[s.Ref-1]
		if had := l.got[path]; len(had) > 0 && s.At <= had[len(had)-1] {
			r.Late++
			continue
		}
		l.got[path] = append(slices.Clone(l.got[path]), s.At)
		r.Accepted++
	}
	if err := l.ask("appended"); err != nil {
		return err
	}
	if r.Late > 0 {
		return &r
	}
	return nil
}

// sample is a reading of a series that may exist or not.
func sample(path string, at int64) detour.Sample {
	return detour.Sample{
		Path: path, At: rra.Seconds(at), Values: []rra.Value{rra.Int(at)},
		Make: &core.Spec{Path: path, Definition: definition, Labels: []core.Label{{Name: "a", Value: "b"}}},
	}
}

// A box is a detour with a spool, and a channel that gets something when a partition is empty. It is
// the directory, too: nobody leads but in deliver.
type box struct {
	*detour.Detour
	emptied chan struct{}
	taker   *taker

	mu    *sync.Mutex
	leads *func(partition int) error // nil: nobody leads
	more  *sync.Cond
}

// A taker is where the box is delivered to, which deliver says.
type taker struct{ core.Engine }

func (b box) Partitions() int { return 10 }

func (b box) Reader(ctx context.Context, p int) (core.Engine, error) { return b.Leader(ctx, p) }

func (b box) Leader(ctx context.Context, p int) (core.Engine, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	stop := context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.more.Broadcast()
	})
	defer stop()
	for *b.leads == nil && ctx.Err() == nil {
		b.more.Wait()
	}
	if ctx.Err() != nil {
		return nil, errAway
	}
	return nil, (*b.leads)(p)
}

// lead lets somebody lead, or nobody if leads is nil.
func (b box) lead(leads func(partition int) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*b.leads = leads
	b.more.Broadcast()
}

func anyLeads(int) error { return nil }

// newBox opens a spool. step, unless nil, gets each step.
func newBox(dir string, o detour.Options, step func(string)) (box, error) {
	b := box{emptied: make(chan struct{}, 1), taker: new(taker), mu: new(sync.Mutex), leads: new(func(int) error)}
	b.more = sync.NewCond(b.mu)
	o.OnStep(func(what string) {
		if step != nil {
			step(what)
		}
		if what == "renamed" {
			select {
			case b.emptied <- struct{}{}:
			default:
			}
		}
	})
	o.DeliverTo(b.taker)
	o.Dir = dir
	if o.Bytes == 0 {
		o.Bytes = 1 << 30
	}
	r, err := router.New(b, router.Options{})
	if err == nil {
		b.Detour, err = detour.New(r, b, o)
	}
	return b, err
}

// open opens a spool, until the end of the test.
func open(t *testing.T, dir string, o detour.Options, step func(string)) box {
	t.Helper()
	b, err := newBox(dir, o, step)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// deliver delivers until the spool is empty. leads, unless nil, says whether a partition has a leader.
func (b box) deliver(t *testing.T, to core.Engine, leads func(partition int) error) {
	t.Helper()
	if leads == nil {
		leads = anyLeads
	}
	b.taker.Engine = to
	b.lead(leads)
	for b.Figures().Partitions > 0 {
		<-b.emptied
	}
	if !b.Settle() {
		t.Error("the spool has a log of a partition that it has delivered")
	}
	b.lead(nil)
}

func add(t *testing.T, b box, partition int, samples ...detour.Sample) {
	t.Helper()
	if err := b.Add(partition, samples); err != nil {
		t.Fatal(err)
	}
}

// wantEmpty wants a spool without files.
func wantEmpty(t *testing.T, b box, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if st := b.Figures(); err != nil || len(names) > 0 || st.Bytes != 0 || st.Oldest != 0 || st.Partitions != 0 {
		t.Errorf("the spool holds %+v, files %v, %v", st, names, err)
	}
}

// TestDeliverToStore spools samples of series that exist, that are to be made and that nobody
// knows, and delivers them to a store.
func TestDeliverToStore(t *testing.T) {
	store := enginetest.Open(t)
	if _, err := store.Create(t.Context(), core.Spec{Path: "old", Definition: definition}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	b := open(t, dir, detour.Options{}, nil)
	for at := range int64(50) {
		old := sample("old", 1000+at)
		old.Make, old.Values, old.Texts = nil, []rra.Value{rra.Text(1)}, []string{"7", fmt.Sprint(1000 + at)}
		add(t, b, 3, sample("new", 1000+at), old)
	}
	add(t, b, 3, detour.Sample{Path: "unknown", At: rra.Seconds(1000), Values: []rra.Value{rra.Int(1)}})
	if !b.Holds(3) || b.Holds(4) || b.Figures().Oldest <= 0 {
		t.Errorf("the spool holds 3: %t, 4: %t, %+v", b.Holds(3), b.Holds(4), b.Figures())
	}
	b.deliver(t, store, func(partition int) error {
		if partition != 3 {
			t.Errorf("asked for the leader of partition %d", partition)
		}
		return nil
	})
	st := b.Figures()
	if st.Spooled != 101 || st.Delivered != 100 || st.Late != 0 || st.Dropped[detour.Refused] != 1 {
		t.Errorf("got %+v", st)
	}
	wantEmpty(t, b, dir)
	for _, path := range []string{"old", "new"} {
		ref, err := store.Lookup(path)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := store.Fetch(t.Context(), ref, 0, 1000, 1049)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for i, v := range rows.Values {
			if at := rows.Start + int64(i+1)*rows.Step; at > 1000 && at < 1050 {
				n++
				if v != float64(at) {
					t.Errorf("%s: the row of %d has %v", path, at, v)
				}
			}
		}
		if n != 49 {
			t.Errorf("%s: got %d rows, want 49", path, n)
		}
	}
}

// TestCrashAtEveryStep copies the spool's folder behind each step, as a killed process would leave
// it, and delivers the copy: each sample that was kept is with the leader, once and in order.
func TestCrashAtEveryStep(t *testing.T) {
	const rounds = 4
	dir := t.TempDir()
	to := newLeader("p1")
	kept := make(map[string][]rra.Time) // acknowledged by Add
	type state struct {
		step string
		dir  string
		to   *leader
		kept map[string][]rra.Time
	}
	var states []state
	snap := func(step string) {
		at := filepath.Join(t.TempDir(), "spool")
		if err := os.CopyFS(at, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		states = append(states, state{step, at, to.copy(), maps.Clone(kept)})
	}
	to.fail = func(call string) error { // no lock of the test: the leader's calls are one by one
		if call == "appended" {
			at := filepath.Join(t.TempDir(), "spool")
			if err := os.CopyFS(at, os.DirFS(dir)); err != nil {
				t.Error(err)
			}
			states = append(states, state{"applied", at, &leader{paths: slices.Clone(to.paths), got: maps.Clone(to.got)}, maps.Clone(kept)})
		}
		return nil
	}
	b := open(t, dir, detour.Options{}, snap)
	at := int64(1000)
	for range rounds {
		for range 3 {
			var batch []detour.Sample
			for _, path := range []string{"p1", "p2", "p3"} {
				batch = append(batch, sample(path, at))
			}
			add(t, b, 7, batch...)
			for _, s := range batch {
				kept[s.Path] = append(slices.Clone(kept[s.Path]), s.At)
			}
			at++
		}
		b.deliver(t, to, nil)
	}
	steps := make(map[string]int)
	for _, s := range states {
		steps[s.step]++
		b := open(t, s.dir, detour.Options{}, nil)
		b.deliver(t, s.to, nil)
		for path, want := range s.kept {
			got := s.to.got[path]
			if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
				t.Errorf("killed behind %q: %s has %v, want %v", s.step, path, got, want)
			}
		}
		wantEmpty(t, b, s.dir)
	}
	for _, step := range []string{"added", "taken", "made", "applied", "delivered", "truncated", "renamed"} {
		if steps[step] < rounds {
			t.Errorf("step %q was seen %d times", step, steps[step])
		}
	}
}

// TestLeaderFails delivers to leaders that are not there, refuse, and do not answer what they have
// applied: each sample counts once, in order.
func TestLeaderFails(t *testing.T) {
	dir := t.TempDir()
	to := newLeader("p2")
	failures := map[string]int{"lookup": 1, "create": 1, "append": 1, "appended": 2}
	to.fail = func(call string) error {
		if failures[call]--; failures[call] >= 0 {
			return core.ErrUnavailable
		}
		return nil
	}
	b := open(t, dir, detour.Options{}, nil)
	var want []rra.Time
	for at := range int64(20) {
		old := sample("p2", 1000+at)
		old.Make = nil
		add(t, b, 1, sample("p1", 1000+at), old)
		want = append(want, rra.Seconds(1000+at))
	}
	asked := 0
	b.deliver(t, to, func(int) error {
		if asked++; asked == 1 {
			return core.ErrUnavailable
		}
		return nil
	})
	for _, path := range []string{"p1", "p2"} {
		if !slices.Equal(to.got[path], want) {
			t.Errorf("%s has %v, want %v", path, to.got[path], want)
		}
	}
	wantEmpty(t, b, dir)
}
