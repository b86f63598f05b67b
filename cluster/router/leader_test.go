package router_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// manySeries makes a series in each of n partitions.
func manySeries(t testing.TB, r *router.Store, n int) (refs []core.Ref) {
	t.Helper()
	for p := range n {
		ref, err := core.Create(t.Context(), r, core.Spec{Path: pathIn(p, n, 0), Definition: gauge(t), Start: rra.Seconds(begin)})
		must(t, err)
		refs = append(refs, ref)
	}
	return refs
}

// Batches on their way to a leader that is deposed were refused, and those behind them were stored
// before them.
func TestBatchesKeepTheirOrderWhenLeadersChange(t *testing.T) {
	t.Parallel()
	const partitions, callers, batches, window = 3, 4, 150, 5
	all := openStores(t, partitions, core.Options{})
	c := newCell(all)
	r := newRouter(t, c, router.Options{Wait: time.Minute})
	var refs [callers][]core.Ref
	for k := range refs {
		for p := range partitions {
			ref, err := core.Create(t.Context(), r, core.Spec{Path: pathIn(p, partitions, k), Definition: gauge(t), Start: rra.Seconds(begin)})
			must(t, err)
			refs[k] = append(refs[k], ref)
		}
	}
	for _, s := range c.parts {
		s.leader.hold = true // nothing is stored unless a test lets the leaders
	}
	done := make(chan struct{})
	var chaos sync.WaitGroup
	deposed := 0
	chaos.Go(func() { // leaders come and go; what they have is stored now and then
		rnd := rand.New(rand.NewPCG(1, 1))
		for {
			select {
			case <-done:
				for _, s := range c.parts {
					s.elect()
				}
				return
			case <-time.After(time.Millisecond):
			}
			s := c.parts[rnd.IntN(partitions)]
			s.c.mu.Lock()
			n := s.leader
			s.c.mu.Unlock()
			switch {
			case n == nil:
				n = s.elect()
				s.c.mu.Lock()
				n.hold = true
				s.c.mu.Unlock()
			case rnd.IntN(3) == 0:
				s.depose()
				deposed++
			default:
				n.pump()
			}
		}
	})
	var senders sync.WaitGroup
	for k := range callers {
		senders.Go(func() { send(t, r, refs[k], batches, window) })
	}
	senders.Wait()
	close(done)
	chaos.Wait()
	var accepted, late uint64
	for _, e := range all {
		st := e.Stats()
		accepted += st.SamplesAccepted
		late += st.SamplesLate + st.SamplesRefused
	}
	if want := uint64(callers * batches * partitions); accepted != want || late != 0 {
		t.Errorf("%d samples stored, %d refused; %d were sent", accepted, late, want)
	}
	t.Logf("%d leaders deposed", deposed)
	if deposed == 0 {
		t.Error("no leader was deposed")
	}
}

// A leader that was replaced refused its batches late and in another order. Those behind them must
// not overtake them.
func TestBatchesWaitForThoseOfTheLeaderBefore(t *testing.T) {
	const before, behind = 3, 2
	all := openStores(t, 1, core.Options{})
	c := newCell(all)
	r := newRouter(t, c, router.Options{Wait: time.Minute})
	ref := manySeries(t, r, 1)[0]
	old := c.parts[0].leader
	old.hold = true
	var b [before + behind]core.Batch
	var tickets [before + behind]core.Ticket
	submit := func(i int) {
		b[i].Add(ref, rra.Seconds(int64(begin+1+i)), rra.Int(int64(i)))
		if err := r.Submit(context.Background(), &b[i], &tickets[i]); err != nil {
			t.Errorf("batch %d: %v", i, err)
		}
	}
	for i := range before {
		submit(i)
	}
	c.parts[0].elect() // old still has its batches
	submitted := make(chan struct{})
	go func() {
		defer close(submitted)
		for i := range behind {
			submit(before + i)
		}
	}()
	select {
	case <-submitted:
		t.Error("submitted while the leader before had batches")
	case <-time.After(20 * time.Millisecond):
	}
	if n := all[0].Stats().SamplesAccepted; n > 0 {
		t.Errorf("%d samples stored before those of the leader before", n)
	}
	c.mu.Lock()
	sent := old.sent
	c.mu.Unlock()
	for i := range sent {
		sent[len(sent)-1-i].t.Complete(core.ErrNotLeader)
	}
	<-submitted
	for i := range tickets {
		if err := tickets[i].Wait(); err != nil {
			t.Errorf("batch %d: %v", i, err)
		}
	}
	if st := all[0].Stats(); st.SamplesAccepted != before+behind || st.SamplesLate > 0 {
		t.Errorf("%d samples stored, %d late", st.SamplesAccepted, st.SamplesLate)
	}
}

// send submits batches, some of them at the same time, each later than the one before.
func send(t *testing.T, r *router.Store, refs []core.Ref, batches, window int) {
	type way struct {
		b core.Batch
		t core.Ticket
	}
	ways := make([]way, window)
	wait := func(i int) {
		if err := ways[i%window].t.Wait(); err != nil {
			t.Errorf("batch %d: %v", i, err)
		}
	}
	for i := range batches {
		if i >= window {
			wait(i - window)
		}
		w := &ways[i%window]
		w.b.Reset()
		for _, ref := range refs {
			w.b.Add(ref, rra.Seconds(int64(begin+1+i)), rra.Int(int64(i)))
		}
		if err := r.Submit(context.Background(), &w.b, &w.t); err != nil {
			t.Errorf("batch %d: %v", i, err)
			return
		}
	}
	for i := max(batches-window, 0); i < batches; i++ {
		wait(i)
	}
}

// When one partition of a batch was out of reach, all of the batch was reported as stored, or
// nothing.
func TestBatchStoredInPartSaysWhatIsMissing(t *testing.T) {
	all := openStores(t, 3, core.Options{})
	c := newCell(all)
	r := newRouter(t, c, router.Options{Wait: 10 * time.Millisecond})
	refs := manySeries(t, r, 3)
	c.parts[1].depose()
	var b core.Batch
	at := rra.Seconds(begin + 10)
	for range 2 { // the second sample of each series is late
		for _, ref := range refs {
			b.Add(ref, at, rra.Int(1))
		}
	}
	b.Add(core.Ref(7), at, rra.Int(1))
	err := core.Append(t.Context(), r, &b)
	var partial *core.PartialError
	if !errors.As(err, &partial) || !errors.Is(err, core.ErrUnavailable) {
		t.Fatalf("error %v", err)
	}
	if !slices.Equal(partial.Missing, []int{1, 4}) || partial.Samples != 7 {
		t.Errorf("missing %v of %d", partial.Missing, partial.Samples)
	}
	if x := partial.Rejected; x == nil || x.Accepted != 2 || x.Late != 2 || x.Other != 1 || len(x.First) != 3 || x.First[2].Index != 6 {
		t.Errorf("rejected %+v", x)
	}
	if rejected := (*core.RejectedError)(nil); errors.As(err, &rejected) {
		t.Error("who takes a refused batch for done would lose samples")
	}

	c.parts[1].elect()
	err = core.Append(t.Context(), r, &b) // all of it again
	var rejected *core.RejectedError
	if !errors.As(err, &rejected) || rejected.Accepted != 1 || rejected.Late != 5 {
		t.Errorf("sent again: %v", err)
	}
}

// Without any partition in reach nothing is stored, and the error says so.
func TestBatchForPartitionsOutOfReachIsRefused(t *testing.T) {
	c := newCell(openStores(t, 2, core.Options{}))
	r := newRouter(t, c, router.Options{Wait: 10 * time.Millisecond})
	refs := manySeries(t, r, 2)
	for _, s := range c.parts {
		s.depose()
	}
	var b core.Batch
	for _, ref := range refs {
		b.Add(ref, rra.Seconds(begin+10), rra.Int(1))
	}
	var ticket core.Ticket
	err := r.Submit(t.Context(), &b, &ticket)
	if !errors.Is(err, core.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if !ticket.Done() {
		t.Error("the ticket is of a batch")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := core.Append(ctx, r, &b); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the caller gave up", err)
	}
	for i, call := range map[string]func() error{
		"drop":   func() error { return core.Drop(t.Context(), r, pathIn(0, 2, 0)) },
		"lookup": func() error { _, err := r.Lookup(pathIn(0, 2, 0)); return err },
		"list":   func() error { _, err := collect(r.Select(t.Context(), core.Query{Order: core.ByPath}), 0); return err },
		"all":    func() error { _, err := collect(r.Select(t.Context(), core.Query{}), 0); return err },
		"labels": func() error { _, err := r.Labels(t.Context(), core.LabelQuery{}); return err },
		"fetch": func() error {
			told := 0
			err := r.FetchMany(t.Context(), core.Spans(refs, 0, begin, begin+10), func(_ int, _ *core.Rows, err error) {
				if errors.Is(err, core.ErrUnavailable) {
					told++
				}
			})
			if told != len(refs) {
				return fmt.Errorf("%d of %d told", told, len(refs))
			}
			return err
		},
		"create": func() error {
			out, err := r.CreateBatch(t.Context(), []core.Spec{{Path: "new", Definition: gauge(t)}})
			if out != nil {
				return fmt.Errorf("outcomes %v", out)
			}
			return err
		},
		"rename": func() error { return r.Rename(t.Context(), pathIn(0, 2, 0), pathIn(1, 2, 1)) },
		"notes":  func() error { _, err := r.Notes(t.Context(), ""); return err },
	} {
		if err := call(); !errors.Is(err, core.ErrUnavailable) {
			t.Errorf("%s: %v", i, err)
		}
	}
}

// One partition out of reach fails what is for it, and nothing else.
func TestOtherPartitionsAreNotConcerned(t *testing.T) {
	ctx := t.Context()
	c := newCell(openStores(t, 2, core.Options{}))
	r := newRouter(t, c, router.Options{Wait: 10 * time.Millisecond})
	refs := manySeries(t, r, 2)
	c.parts[0].depose()
	d := gauge(t)
	out, err := r.CreateBatch(ctx, []core.Spec{{Path: pathIn(0, 2, 1), Definition: d}, {Path: pathIn(1, 2, 1), Definition: d}})
	if !errors.Is(err, core.ErrUnavailable) || len(out) != 2 || !errors.Is(out[0].Err, core.ErrUnavailable) || out[1].Err != nil || out[1].Ref == 0 {
		t.Errorf("created %v, %v", out, err)
	}
	if _, err := core.SeriesOf(ctx, r, refs[1]); err != nil {
		t.Error(err)
	}
	var b core.Batch
	b.Add(refs[1], rra.Seconds(begin+10), rra.Int(1))
	must(t, core.Append(ctx, r, &b))
	errs, err := r.Relabel(ctx, []core.PathLabels{{Path: pathIn(0, 2, 0)}, {Path: pathIn(1, 2, 0), Labels: []core.Label{{Name: "a", Value: "b"}}}})
	if !errors.Is(err, core.ErrUnavailable) || !errors.Is(errs[0], core.ErrUnavailable) || errs[1] != nil {
		t.Errorf("relabelled %v, %v", errs, err)
	}
}

// A call that waits for a leader goes on when there is one.
func TestCallsWaitForALeader(t *testing.T) {
	c := newCell(openStores(t, 2, core.Options{}))
	r := newRouter(t, c, router.Options{Wait: time.Minute})
	refs := manySeries(t, r, 2)
	c.parts[0].depose()
	made := make(chan error)
	go func() {
		_, err := core.Create(t.Context(), r, core.Spec{Path: pathIn(0, 2, 5), Definition: gauge(t)})
		made <- err
	}()
	stored := make(chan error)
	go func() {
		var b core.Batch
		for _, ref := range refs {
			b.Add(ref, rra.Seconds(begin+10), rra.Int(1))
		}
		stored <- core.Append(t.Context(), r, &b)
	}()
	select {
	case err := <-made:
		t.Errorf("made without a leader: %v", err)
	case err := <-stored:
		t.Errorf("stored without a leader: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	c.parts[0].elect()
	must(t, <-made)
	must(t, <-stored)
}

// A change that a deposed leader refuses is made by the next one.
func TestChangesGoToTheNextLeader(t *testing.T) {
	all := openStores(t, 1, core.Options{})
	c := newCell(all)
	old := c.parts[0].leader
	c.parts[0].elect()
	asked := 0
	r := newRouter(t, leaders{c, func() core.Engine {
		if asked++; asked < 3 {
			return old
		}
		return c.parts[0].leader
	}}, router.Options{Wait: time.Minute})
	_, err := core.Create(t.Context(), r, core.Spec{Path: "a", Definition: gauge(t)})
	must(t, err)
	if asked < 3 {
		t.Errorf("the directory was asked %d times", asked)
	}
}

// The next leader refused the series of an import that the leader before had made.
func TestImportGoesOnWithTheNextLeader(t *testing.T) {
	ctx := t.Context()
	store := openStores(t, 1, core.Options{})[0]
	ref, err := core.Create(ctx, store, core.Spec{Path: "a", Definition: gauge(t), Start: rra.Seconds(begin)})
	must(t, err)
	c, err := store.Export(ctx, ref)
	must(t, err)
	var copies []core.Copy
	for _, path := range []string{"a", "b", "c", "d"} {
		c.Path = path
		copies = append(copies, c)
	}
	first := &halfway{Engine: store}
	r := newRouter(t, leaders{newCell(stores{store}), func() core.Engine {
		if !first.asked {
			return first
		}
		return store
	}}, router.Options{Wait: time.Minute})
	out, err := core.Import(ctx, r, copies, false)
	must(t, err)
	for i, x := range out {
		if exists := i == 0; errors.Is(x.Err, core.ErrExists) != exists || !exists && x.Err != nil || x.Ref == 0 {
			t.Errorf("%s: %v", copies[i].Path, x)
		}
	}
	if !first.asked {
		t.Error("the first leader was not asked")
	}
}

// halfway is a leader that loses its place, and answers for two of the series that it imports.
type halfway struct {
	core.Engine
	asked bool
}

func (h *halfway) CreateBatch(ctx context.Context, specs []core.Spec) ([]core.Created, error) {
	h.asked = true
	out, err := h.Engine.CreateBatch(ctx, specs)
	if err != nil {
		return out, err
	}
	return append(out[:2], make([]core.Created, len(specs)-2)...), core.ErrNotLeader
}

// leaders is a cell whose leader another function returns.
type leaders struct {
	*cell
	leader func() core.Engine
}

func (l leaders) Leader(context.Context, int) (core.Engine, error) { return l.leader(), nil }

// A reader did not see what its own writes had changed, because another replica answered.
func TestReadersSeeTheirWrites(t *testing.T) {
	c := newCell(openStores(t, 1, core.Options{}))
	s := c.parts[0]
	follower := &node{Engine: s.store, s: s}
	s.reader = follower
	r := newRouter(t, c, router.Options{Wait: time.Minute})
	look := func(want ...wal.Pos) {
		t.Helper()
		_, err := r.Labels(t.Context(), core.LabelQuery{})
		must(t, err)
		if !slices.Equal(follower.waited, want) {
			t.Errorf("waited for %v, want %v", follower.waited, want)
		}
	}
	look()
	ref, err := core.Create(t.Context(), r, core.Spec{Path: "a", Definition: gauge(t), Start: rra.Seconds(begin)})
	must(t, err)
	look(1)
	var b core.Batch
	b.Add(ref, rra.Seconds(begin+10), rra.Int(1))
	must(t, core.Append(t.Context(), r, &b))
	look(1, 2)
}

// A sender went to another node after its series were made, and got the answer that they are not
// there: the replica of that node was behind.
func TestOnlyTheLeaderKnowsThatASeriesIsMissing(t *testing.T) {
	c := newCell(openStores(t, 1, core.Options{}))
	s := c.parts[0]
	ref, err := core.Create(t.Context(), newRouter(t, c, router.Options{}), core.Spec{Path: "a", Definition: gauge(t), Start: rra.Seconds(begin)})
	must(t, err)
	s.reader = &node{Engine: openStores(t, 1, core.Options{})[0], s: s} // has nothing
	other := newRouter(t, c, router.Options{Wait: time.Second})
	if got, err := other.Lookup("a"); err != nil || got != ref {
		t.Errorf("%v, %v, want %v", got, err, ref)
	}
	if _, err := other.Lookup("b"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a series that is nowhere: %v", err)
	}
	s.depose()
	if _, err := other.Lookup("b"); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("without a leader: %v", err)
	}
}

// certain is a cell whose Directory says whether this process leads.
type certain struct {
	*cell
	leads func() error
}

func (c certain) Leads(int) error { return c.leads() }

// A sender got the answer that its series are not there from a node that had led, and did not know
// yet that another one leads and has made them.
func TestOldLeaderDoesNotKnowThatASeriesIsMissing(t *testing.T) {
	c := newCell(openStores(t, 1, core.Options{}))
	s := c.parts[0]
	ref, err := core.Create(t.Context(), newRouter(t, c, router.Options{}), core.Spec{Path: "a", Definition: gauge(t), Start: rra.Seconds(begin)})
	must(t, err)
	whole := s.store
	s.store = openStores(t, 1, core.Options{})[0] // has nothing
	s.elect()
	asked, sure := 0, false
	dir := certain{c, func() error {
		if sure {
			return nil
		}
		if asked++; asked == 3 {
			s.store, sure = whole, true
			s.elect()
		}
		return core.ErrNotLeader
	}}
	r := newRouter(t, dir, router.Options{Wait: time.Minute})
	if got, err := r.Lookup("a"); err != nil || got != ref || asked != 3 {
		t.Errorf("%v, %v, want %v; asked %d times", got, err, ref, asked)
	}
	if _, err := r.Lookup("b"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a series that is nowhere: %v", err)
	}
	sure = false
	r = newRouter(t, dir, router.Options{Wait: 50 * time.Millisecond})
	if _, err := r.Lookup("b"); !errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrNotFound) {
		t.Errorf("while nobody leads for certain: %v", err)
	}
	if got, err := r.Lookup("a"); err != nil || got != ref {
		t.Errorf("a series that is there, while nobody leads for certain: %v, %v", got, err)
	}
}
