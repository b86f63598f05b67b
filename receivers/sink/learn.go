package sink

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/steps"
	"github.com/rondo-db/rondo/rra"
)

const (
	maxYoung     = 1 << 20 // series that are watched at a time
	youngSamples = 8       // samples for which a series is watched
	learnSamples = 4       // samples from which the step of a series is learned
	keptSamples  = 16      // samples that are kept for it, silent ones among them
	maxSparse    = 4096    // series that are remembered because their samples come too far apart

	silentYoung = rra.Time(6 * time.Hour / time.Microsecond) // a silent series is watched so long
)

// Behind a balancer another node of a cluster may get the second sample. It has met the series: if
// the state is what one sample makes of it, that sample is known. The first node follows by path.

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
	looked  rra.Time              // when silent ones were looked for
	moved   map[core.Ref]core.Ref // a replaced series → what has replaced it
	earlier map[core.Ref]core.Ref // moved as it was when silent ones were looked for last
	groups  steps.Groups
	landing chan struct{} // closed when samples of a young series land; nil: nobody waits
	sparse  map[core.Ref]Sparse
}

// A young is a series with few samples. The learner's mutex guards it.
type young struct {
	ref       core.Ref
	path      string
	step      int64 // seconds
	heartbeat rra.Time
	end       rra.Time // time of the last sample
	before    rra.Time // end before the batch at hand

	// The samples of the series since it is watched, but for silent ones.
	last rra.Time // time of the last one
	gap  rra.Time // the shortest distance between two that is longer than the heartbeat
	seen int32    // how many came
	far  int32    // how many came further behind the one before than the heartbeat

	// What its step is learned by.
	define      func(step int64) *rra.Definition // nil: nothing is learned, or nothing any more
	group       string
	time, since rra.Time // of the Request
	samples     []Sample // the first that came, silent ones too
	loud        int8     // how many of samples are not silent
	fresh       int8     // how many of samples are of the batch at hand
	untyped     bool
	kind        rra.Kind
	settled     bool  // nothing is learned by the second sample, or nothing any more
	taken       bool  // the batch at hand has samples of it
	flying      int32 // how many batches with samples of the series are on their way
}

// A Sparse is a series whose samples come further apart than its heartbeat, so that its rows are
// unknown.
type Sparse struct {
	Path      string
	Source    string // the data source
	Heartbeat int64  // seconds
	Apart     int64  // seconds between two samples, at least
}

// youngOf returns how the series of a request is watched, and whether it is. learn says that its
// step may be learned.
func youngOf(r *receivers.Request, learn bool) (y young, ok bool) {
	ds, ok := receivers.OnlySource(r.Definition)
	if !ok {
		return y, false
	}
	y = young{ref: r.Ref, path: r.Path, step: r.Definition.Step, heartbeat: rra.Seconds(ds.Heartbeat), kind: ds.Kind}
	if r.Made {
		y.end = r.Starts(r.Definition)
	}
	if learn {
		y.define, y.group, y.untyped, y.time, y.since = r.Define, r.Group, r.Untyped, r.Time, r.Since
		y.settled = !r.Learn
	}
	return y, true
}

// metYoung returns a series as the node that made it watches it, if it has had one sample; nil: it
// has more, or none.
func (s *Sink) metYoung(r *receivers.Request) *young {
	info, err := s.newest(r.Ref)
	y, ok := youngOf(r, true)
	if err != nil || !ok {
		return nil
	}
	source := slices.IndexFunc(info.Definition.Sources, func(ds rra.DataSource) bool { return ds.Kind != rra.Compute })
	x := replacement{Request: receivers.Request{Time: info.LastUpdate()}}
	if r.Begins != nil {
		var zero rra.Time
		if x.Since, zero = r.Begins(x.Time); x.Starts(r.Definition) < zero && zero < x.Time {
			x.Samples = append(x.Samples, Sample{zero, receivers.Zero})
		}
	}
	value, texts := info.Machine.LastValue(&info.State, source)
	x.Samples = append(x.Samples, Sample{x.Time, value})
	state, _, err := filled(r.Definition, &x)
	if texts != nil || err != nil || !slices.Equal(state.W, info.State.W) || !slices.Equal(state.Text, info.State.Text) {
		return nil
	}
	y.time, y.since = x.Time, x.Since
	for _, v := range x.Samples {
		y.note(&core.BatchSample{At: v.At, Values: []rra.Value{v.Value}})
	}
	y.fresh = 0
	return &y
}

// watch begins to watch series. Of a series that is watched already nothing changes.
func (s *shared) watch(ys []*young) {
	if len(ys) == 0 {
		return
	}
	l := &s.learn
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := rra.TimeOf(s.o.Now()); max(now-l.looked, l.looked-now) > silentYoung {
		l.looked, l.earlier, l.moved = now, l.moved, nil
		maps.DeleteFunc(l.young, func(ref core.Ref, y *young) bool {
			return y.flying == 0 && y.end < now-silentYoung && s.roll.flag(ref, false)
		})
	}
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
// called with the series that take returns. moved reports whether samples are redirected.
func (s *Sink) take(ctx context.Context, b *core.Batch) (on []*young, moved bool) {
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
		if ref != x.Ref {
			b.Redirect(i, ref)
			moved = true
		}
		y := l.young[ref]
		if y == nil {
			continue
		}
		if !y.taken {
			y.taken, y.before = true, y.end
			on = append(on, y)
		}
		y.note(&x)
	}
	if slices.ContainsFunc(on, (*young).ripe) {
		moved = s.learnSteps(ctx, b, on) || moved
	}
	for _, y := range on {
		if y.seen >= youngSamples && l.young[y.ref] == y {
			s.grown(y)
		}
		y.taken, y.fresh = false, 0
		y.flying++
	}
	return on, moved
}

// move notes that a series has replaced another one. l.mu is held.
func (l *learner) move(from, to core.Ref) {
	if l.moved == nil {
		l.moved = make(map[core.Ref]core.Ref)
	}
	l.moved[from] = to
}

// now returns the series that ref stands for. l.mu is held.
func (l *learner) now(ref core.Ref) core.Ref {
	for {
		to := cmp.Or(l.moved[ref], l.earlier[ref])
		if to == 0 {
			return ref
		}
		ref = to
	}
}

// note notes a sample. One that is not after the last one changes nothing: the store refuses it.
func (y *young) note(x *core.BatchSample) {
	if x.At <= y.end {
		return
	}
	y.end = x.At
	plain := len(x.Values) == 1 && x.Values[0].Tag != rra.TagText && x.Values[0].Tag != rra.TagInvalid
	loud := !plain || !y.silent(x.Values[0])
	if loud {
		y.distance(x.At)
	}
	switch {
	case y.define == nil || y.loud == learnSamples:
	case !plain || len(y.samples) == keptSamples:
		y.define = nil
	default:
		y.samples = append(y.samples, Sample{x.At, x.Values[0]})
		y.fresh++
		if loud {
			y.loud++
		}
	}
}

// silent reports whether a value says nothing of how often samples come: a receiver has put it in,
// or it says that the series has ended.
func (y *young) silent(v rra.Value) bool {
	return v.Tag == rra.TagUnknown || v == receivers.Zero && y.kind != rra.Gauge
}

// times returns when the loud samples came that are kept.
func (y *young) times() (at []rra.Time) {
	for _, x := range y.samples {
		if !y.silent(x.Value) {
			at = append(at, x.At)
		}
	}
	return at
}

// distance notes that a sample comes at a time.
func (y *young) distance(at rra.Time) {
	if d := at - y.last; y.seen > 0 && d > y.heartbeat && y.kind != rra.Absolute { // see shows
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
	info, err := s.store.Info(y.ref)
	if err != nil || info.LastUpdate() > y.before {
		return // it was dropped, or another node has had samples between those
	}
	if l.sparse == nil {
		l.sparse = make(map[core.Ref]Sparse)
	}
	ds, _ := receivers.OnlySource(info.Definition)
	x := Sparse{Path: info.Path, Source: ds.Name, Heartbeat: y.heartbeat.Unix(), Apart: y.gap.Unix()}
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

// A shown is a series whose samples show a step.
type shown struct {
	*young
	step  int64 // seconds
	first bool  // the second sample shows it, so that the group may learn by it
}

// learnSteps gives the series of on the steps that their samples show, and redirects samples of b.
// It waits until all samples before this batch have landed. Meanwhile s.learn.mu is released, and
// s.learn.turn is held: no other batch counts among what has landed, or goes to a series that is
// about to be replaced.
func (s *Sink) learnSteps(ctx context.Context, b *core.Batch, on []*young) (moved bool) {
	ctx, cancel := receivers.Asking(ctx)
	defer cancel()
	l := &s.learn
	var all []shown
	var told steps.Groups // what the samples show of groups, if their series have no others
	for _, y := range on {
		if !y.ripe() || !l.quiet(ctx, y) {
			continue
		}
		x := shown{y, l.shows(y, &told), !y.settled}
		y.settled = true
		if x.step != y.step {
			all = append(all, x)
		} else if x.first {
			l.learned(y.group, x.step)
		}
	}
	if len(all) == 0 {
		return false
	}
	s.relearn(ctx, all)
	for i := range b.Len() {
		was := b.Ref(i)
		if ref := l.now(was); ref != was {
			b.Redirect(i, ref)
			moved = true
		}
	}
	return moved
}

// learned notes the step of a group, unless it has one. l.mu is held.
func (l *learner) learned(group string, step int64) {
	if group != "" {
		l.groups.Learn(group, step)
	}
}

// ripe reports whether the samples of y show something of its step. The second does, and so does
// the fourth.
func (y *young) ripe() bool {
	return y.define != nil && y.fresh > 0 && (!y.settled && y.loud >= 2 || y.loud == learnSamples)
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
func (l *learner) shows(y *young, told *steps.Groups) int64 {
	x := y.times()
	seldom := y.kind == rra.Absolute // no delta comes while nothing is counted
	if y.settled {
		x = x[learnSamples-3:]
		if !seldom && 8*min(x[1]-x[0], x[2]-x[1]) > 7*y.heartbeat { // senders are late at times
			return steps.Apart(x[2] - x[1])
		}
		return y.step
	}
	between := x[1] - x[0]
	if step := cmp.Or(l.groups.Step(y.group), told.Step(y.group)); step != 0 {
		if ds, _ := receivers.OnlySource(y.define(step)); seldom || between <= rra.Seconds(ds.Heartbeat) {
			return step
		}
	}
	step := steps.Apart(between)
	if y.group != "" {
		told.Learn(y.group, step)
	}
	return step
}

// relearn replaces series by ones with the steps that they show, which have had the samples that
// have landed. A series that somebody else has written to, such as another node, keeps its step.
// s.learn.mu is released meanwhile, and s.learn.turn is held.
func (s *Sink) relearn(ctx context.Context, all []shown) {
	refs := make([]core.Ref, len(all))
	for i, x := range all {
		refs[i] = x.ref
	}
	l := &s.learn
	l.mu.Unlock()
	var rs []replacement
	var of []shown
	failed := s.store.Resolve(ctx, refs, func(i int, series core.Series) bool {
		x := all[i]
		rs, of = append(rs, replacement{
			Request: receivers.Request{
				Identity: receivers.Identity{Path: series.Path, Labels: series.Labels}, Time: x.time, Since: x.since, Untyped: x.untyped,
				Define: func(own int64) *rra.Definition { return x.define(cmp.Or(own, x.step)) },
			},
			Samples: x.samples[:len(x.samples)-int(x.fresh)],
		}), append(of, x)
		return true
	})
	s.replaceMany(ctx, rs)
	for i := range of {
		if x := &of[i]; x.first && errors.Is(rs[i].Err, errChanged) { // its last sample shows more
			if info, err := s.newest(x.ref); err == nil {
				x.step = cmp.Or(steps.Apart(x.times()[1]-info.LastUpdate()), x.step)
			}
		}
	}
	l.mu.Lock()
	for i, x := range of {
		r := &rs[i]
		changed := errors.Is(r.Err, errChanged)
		switch {
		case r.Err == nil:
			s.succeed(x.young, r)
		case !changed:
			failed = cmp.Or(failed, r.Err)
			fallthrough
		default:
			x.define = nil
		}
		if x.first && (r.Err == nil || changed) {
			l.learned(x.group, x.step)
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
func (s *shared) succeed(y *young, r *replacement) {
	l := &s.learn
	ds, _ := receivers.OnlySource(r.Definition)
	delete(l.young, y.ref)
	l.move(y.ref, r.Ref)
	s.roll.succeed(y.ref, r.Ref)
	y.ref, y.step, y.heartbeat = r.Ref, r.Definition.Step, rra.Seconds(ds.Heartbeat)
	y.seen, y.far = 0, 0
	for _, at := range y.times() {
		y.distance(at)
	}
	l.young[y.ref] = y
}

// followPause is how long follow waits until it looks again: a replica may lag behind.
const followPause = 10 * time.Millisecond

// successor returns what has replaced a watched series that is not there any more; 0: nothing has,
// or it takes other values. on are series that were watched a moment ago.
func (s *Sink) successor(ctx context.Context, on []*young, ref core.Ref) core.Ref {
	ctx, cancel := receivers.Asking(ctx)
	defer cancel()
	l := &s.learn
	l.mu.Lock()
	to, y := l.now(ref), l.young[ref]
	if i := slices.IndexFunc(on, func(y *young) bool { return y.ref == ref }); i >= 0 {
		y = on[i] // it may have grown
	}
	l.mu.Unlock()
	switch {
	case to != ref:
		return to
	case y == nil:
		return 0
	}
	for {
		var err error
		if to, err = s.store.Lookup(y.path); err != nil {
			return 0 // it was dropped
		}
		if to != ref {
			break
		}
		if sleep.For(ctx, followPause) != nil {
			return 0
		}
	}
	x, err := core.SeriesOf(ctx, s.store, to)
	if err != nil {
		return 0
	}
	if ds, ok := receivers.OnlySource(x.Definition); !ok || ds.Kind != y.kind {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.young[ref] == y {
		delete(l.young, ref)
	}
	l.move(ref, to)
	s.roll.succeed(ref, to)
	s.roll.flag(ref, true)
	s.roll.flag(to, false)
	if y.define != nil || y.settled {
		l.learned(y.group, x.Definition.Step)
	}
	return to
}

// Sparse returns the series whose samples come further apart than their heartbeat, in the order of
// their paths. Those that were dropped, replaced or mended since are left out.
func (s *Sink) Sparse(ctx context.Context) []Sparse {
	l := &s.learn
	l.mu.Lock()
	refs := slices.Sorted(maps.Keys(l.sparse))
	l.mu.Unlock()
	if len(refs) == 0 {
		return nil
	}
	there := make(map[core.Ref]bool, len(refs))
	err := s.store.Resolve(ctx, refs, func(i int, series core.Series) bool {
		_, there[refs[i]] = s.SparseOf(series)
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

// SparseOf reports whether samples of a series come further apart than its heartbeat.
func (s *Sink) SparseOf(series core.Series) (x Sparse, ok bool) {
	l := &s.learn
	l.mu.Lock()
	defer l.mu.Unlock()
	x, ok = l.sparse[series.Ref]
	ds, _ := receivers.OnlySource(series.Definition)
	return x, ok && ds.Heartbeat < x.Apart
}
