package sink

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/steps"
	"github.com/rondo-db/rondo/rra"
)

const (
	maxYoung     = 1 << 18 // series that are watched at a time
	youngSamples = 8       // samples for which a series is watched
	learnSamples = 4       // samples from which the step of a series is learned
	maxSparse    = 4096    // series that are remembered because their samples come too far apart
)

// A learner watches the first samples of series. It gives a series whose step was guessed the step
// that its samples show, and it knows the series whose samples come further apart than their
// heartbeat.
//
// The second sample shows the step. Before it goes into the store, the series is replaced by one of
// that step which has had the first sample, unless somebody else has written to it. Receivers keep
// the reference of the old series: their samples are redirected.
type learner struct {
	turn    sync.Mutex // of take, which may wait for samples to land; it is locked before mu
	mu      sync.Mutex // guards what follows
	young   map[core.Ref]*young
	moved   map[core.Ref]core.Ref // a replaced series → what has replaced it
	groups  steps.Groups
	landing chan struct{} // closed when samples of a young series land; nil: nobody waits
	sparse  map[core.Ref]Sparse
}

// A young is a series with few samples. The learner's mutex guards it.
type young struct {
	ref       core.Ref
	step      int64 // seconds
	heartbeat rra.Time

	// The samples of the series since it is watched.
	seen int      // how many came
	far  int      // how many came further behind the one before than the heartbeat
	gap  rra.Time // the shortest of these distances
	last rra.Time // time of the last one

	// What its step is learned by.
	define  func(step int64) *rra.Definition // nil: nothing is learned, or nothing any more
	group   string
	untyped bool
	begins  rra.Time           // Request.Time
	settled bool               // the second sample has shown the step
	samples []receivers.Sample // the first that came
	taken   bool               // the batch at hand has samples of it
	fresh   int                // how many of samples are of the batch at hand
	flying  int                // how many batches with samples of the series are on their way
}

// A Sparse is a series whose samples come further apart than its heartbeat, so that its rows are
// unknown.
type Sparse struct {
	Path      string
	Source    string // the data source
	Heartbeat int64  // seconds
	Apart     int64  // seconds between two samples, at least
}

// youngOf returns how the series of a request is watched; nil: it is not. learn says that its step
// was guessed, and is to be learned.
func youngOf(r *receivers.Request, learn bool) *young {
	ds, ok := receivers.OnlySource(r.Definition)
	if !ok {
		return nil
	}
	y := &young{ref: r.Ref, step: r.Definition.Step, heartbeat: rra.Seconds(ds.Heartbeat)}
	if learn {
		y.define, y.group, y.untyped, y.begins = r.Define, r.Group, r.Untyped, r.Time
	}
	return y
}

// watch begins to watch series. Of a series that is watched already nothing changes.
func (s *shared) watch(ys []*young) {
	if len(ys) == 0 {
		return
	}
	l := &s.learn
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, y := range ys {
		if len(l.young) >= maxYoung {
			return
		}
		if l.young[y.ref] == nil && s.roll.flag(y.ref, true) {
			if l.young == nil {
				l.young = make(map[core.Ref]*young)
			}
			l.young[y.ref] = y
		}
	}
}

// stepOf returns the step that is known of a group, in seconds; 0: none is.
func (l *learner) stepOf(group string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.groups.Step(group)
}

// take notes the samples of b that are of young series, learns steps by them, and redirects samples
// of series that were replaced. The batch then goes into the store, and once it is there, landed is
// called with the series that take returns.
func (s *Sink) take(ctx context.Context, b *core.Batch) (on []*young) {
	l := &s.learn
	l.turn.Lock()
	defer l.turn.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	i := -1
	for x := range b.All() {
		i++
		if !s.roll.flagged(x.Ref) {
			continue
		}
		ref := l.now(x.Ref)
		b.Redirect(i, ref)
		y := l.young[ref]
		if y == nil {
			continue
		}
		if !y.taken {
			y.taken = true
			on = append(on, y)
		}
		y.note(&x)
	}
	if slices.ContainsFunc(on, (*young).ripe) {
		s.learnSteps(ctx, b, on)
	}
	for _, y := range on {
		if y.seen >= youngSamples && l.young[y.ref] == y {
			s.grown(y)
		}
		y.taken, y.fresh = false, 0
		y.flying++
	}
	return on
}

// now returns the series that ref stands for. l.mu is held.
func (l *learner) now(ref core.Ref) core.Ref {
	for {
		to, ok := l.moved[ref]
		if !ok {
			return ref
		}
		ref = to
	}
}

// note notes a sample. One that is not after the last one changes nothing: the store refuses it.
func (y *young) note(x *core.BatchSample) {
	if y.seen > 0 && x.At <= y.last {
		return
	}
	y.distance(x.At)
	switch {
	case y.define == nil:
	case len(x.Values) != 1 || x.Values[0].Tag == rra.TagText || x.Values[0].Tag == rra.TagInvalid:
		y.define = nil
	case len(y.samples) < learnSamples:
		y.samples = append(y.samples, receivers.Sample{At: x.At, Value: x.Values[0]})
		y.fresh++
	}
}

// distance notes that a sample comes at a time.
func (y *young) distance(at rra.Time) {
	if d := at - y.last; y.seen > 0 && d > y.heartbeat {
		if y.far++; y.far == 1 || d < y.gap {
			y.gap = d
		}
	}
	y.seen, y.last = y.seen+1, at
}

// grown ends the watch of a series. l.mu is held.
func (s *Sink) grown(y *young) {
	l := &s.learn
	delete(l.young, y.ref)
	s.roll.flag(y.ref, false)
	if 2*y.far <= y.seen || len(l.sparse) >= maxSparse {
		return
	}
	series, err := core.SeriesOf(context.Background(), s.store, y.ref)
	if err != nil {
		return // it was dropped
	}
	if l.sparse == nil {
		l.sparse = make(map[core.Ref]Sparse)
	}
	ds, _ := receivers.OnlySource(series.Definition)
	x := Sparse{Path: series.Path, Source: ds.Name, Heartbeat: y.heartbeat.Unix(), Apart: y.gap.Unix()}
	l.sparse[y.ref] = x
	if ok, held := s.heard.lines.Allow("sparse", s.o.Now()); ok {
		s.o.Logger.Warn("samples come further apart than the heartbeat of their series: its rows are unknown",
			"path", x.Path, "heartbeat_seconds", x.Heartbeat, "apart_seconds", x.Apart, "held_back_lines", held)
	}
}

// landed notes that a batch with samples of series has landed in the store, or what went wrong.
func (s *shared) landed(on []*young, err error) {
	if len(on) == 0 {
		return
	}
	_, rejected := errors.AsType[*core.RejectedError](err)
	l := &s.learn
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, y := range on {
		if y.flying--; err != nil && !rejected {
			y.define = nil // nobody knows which samples the store has
		}
	}
	if l.landing != nil {
		close(l.landing)
		l.landing = nil
	}
}

// A shown is a series whose samples show a step, in seconds.
type shown struct {
	*young
	step int64
}

// learnSteps gives the series of on the steps that their samples show. It waits until all samples
// before this batch have landed. Meanwhile s.learn.mu is released, and s.learn.turn is held: no
// other batch counts among what has landed, or goes to a series that is about to be replaced.
func (s *Sink) learnSteps(ctx context.Context, b *core.Batch, on []*young) {
	ctx, cancel := receivers.Asking(ctx)
	defer cancel()
	var all []shown
	for _, y := range on {
		if !y.ripe() || !s.learn.quiet(ctx, y) {
			continue
		}
		if step := s.learn.shows(y); step != y.step {
			all = append(all, shown{y, step})
		}
		y.settled = true
	}
	if len(all) == 0 {
		return
	}
	s.relearn(ctx, all)
	for i := range b.Len() {
		if ref := b.Ref(i); s.roll.flagged(ref) {
			b.Redirect(i, s.learn.now(ref))
		}
	}
}

// ripe reports whether the samples of y show something of its step. The second does, and so does
// the fourth.
func (y *young) ripe() bool {
	n := len(y.samples)
	return y.define != nil && y.fresh > 0 && (!y.settled && n >= 2 || n == learnSamples)
}

// quiet waits until no batch with samples of y is on its way, and reports whether its step can be
// learned. l.mu is released meanwhile.
func (l *learner) quiet(ctx context.Context, y *young) bool {
	for y.flying > 0 && ctx.Err() == nil {
		if l.landing == nil {
			l.landing = make(chan struct{})
		}
		landing := l.landing
		l.mu.Unlock()
		select {
		case <-landing:
		case <-ctx.Done():
		}
		l.mu.Lock()
	}
	if y.flying > 0 {
		y.define = nil
	}
	return y.define != nil
}

// shows returns the step that the samples of y show, in seconds. l.mu is held.
func (l *learner) shows(y *young) int64 {
	x := y.samples
	if y.settled {
		x = x[learnSamples-3:]
		if x[1].At-x[0].At > y.heartbeat && x[2].At-x[1].At > y.heartbeat {
			return steps.Apart(x[2].At - x[1].At)
		}
		return y.step
	}
	between := x[1].At - x[0].At
	if step := l.groups.Step(y.group); step != 0 && between <= rra.Seconds(receivers.LearnedHeartbeat(step)) {
		return step
	}
	step := steps.Apart(between)
	if y.group != "" {
		l.groups.Learn(y.group, step)
	}
	return step
}

// relearn replaces series by ones with the steps that they show, which have had the samples that
// have landed. A series that somebody else has written to keeps its step. s.learn.mu is held.
func (s *Sink) relearn(ctx context.Context, all []shown) {
	refs := make([]core.Ref, len(all))
	for i, x := range all {
		refs[i] = x.ref
	}
	var rs []receivers.Replacement
	var of []*young
	failed := s.store.Resolve(ctx, refs, func(i int, series core.Series) bool {
		x := all[i]
		rs, of = append(rs, receivers.Replacement{
			Request: receivers.Request{
				Identity: receivers.Identity{Path: series.Path, Labels: series.Labels}, Time: x.begins, Untyped: x.untyped,
				Define: func(own int64) *rra.Definition { return x.define(cmp.Or(own, x.step)) },
			},
			Samples: x.samples[:len(x.samples)-x.fresh],
		}), append(of, x.young)
		return true
	})
	s.replaceMany(ctx, rs)
	for i := range rs {
		r, y := &rs[i], of[i]
		if r.Err == nil {
			s.succeed(y, r)
			continue
		}
		if y.define = nil; !errors.Is(r.Err, receivers.ErrChanged) {
			failed = cmp.Or(failed, r.Err)
		}
	}
	if failed == nil {
		return
	}
	if ok, held := s.heard.lines.Allow("step", s.o.Now()); ok { // they keep the step that was guessed
		s.o.Logger.Error("the step of series is not changed", "series", len(rs), "err", failed, "held_back_lines", held)
	}
}

// succeed puts the series of r into the place of y. s.learn.mu is held.
func (s *shared) succeed(y *young, r *receivers.Replacement) {
	l := &s.learn
	ds, _ := receivers.OnlySource(r.Definition)
	delete(l.young, y.ref)
	if l.moved == nil {
		l.moved = make(map[core.Ref]core.Ref)
	}
	l.moved[y.ref] = r.Ref
	s.roll.succeed(y.ref, r.Ref)
	y.ref, y.step, y.heartbeat = r.Ref, r.Definition.Step, rra.Seconds(ds.Heartbeat)
	y.seen, y.far = 0, 0
	for _, x := range y.samples {
		y.distance(x.At)
	}
	l.young[y.ref] = y
}

// Sparse returns the series whose samples come further apart than their heartbeat, in the order of
// their paths. Those that were dropped or replaced since are left out.
func (s *Sink) Sparse(ctx context.Context) []Sparse {
	l := &s.learn
	l.mu.Lock()
	refs := slices.Sorted(maps.Keys(l.sparse))
	l.mu.Unlock()
	if len(refs) == 0 {
		return nil
	}
	there := make(map[core.Ref]bool, len(refs))
	err := s.store.Resolve(ctx, refs, func(i int, _ core.Series) bool {
		there[refs[i]] = true
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Sparse, 0, len(refs))
	for _, ref := range refs {
		if err == nil && !there[ref] {
			delete(l.sparse, ref)
		} else {
			out = append(out, l.sparse[ref])
		}
	}
	slices.SortFunc(out, func(a, b Sparse) int { return strings.Compare(a.Path, b.Path) })
	return out
}
