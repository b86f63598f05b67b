package remotewrite

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/resets"
	"github.com/rondo-db/rondo/receivers/internal/steps"
	"github.com/rondo-db/rondo/rra"
)

// A second is a series whose second sample shows its step.
type second struct {
	number uint32
	i      int // its index in the request
	job    string
	step   int64 // that it would have
	at     rra.Time
}

// learn gives series whose step was guessed their step, as soon as the second sample shows it. The
// series is replaced by one of that step which has had the first sample, unless somebody else has
// written to it, such as another node: then it keeps its step. It holds s.order.
func (s *server) learn(ctx context.Context, w *work, sender string, latest rra.Time) {
	var rs []receivers.Replacement
	var of []second
	var told steps.Groups // what the samples say of jobs, if their series have no others
	for i, n := range w.entry {
		if n == none || w.series[i].fault != "" || s.table.series[n].state&(guess|lastKnown|offered) != guess|lastKnown|offered {
			continue
		}
		e := &s.table.series[n]
		at, created := w.after(i, e, latest)
		step := steps.Apart(at - e.last.at)
		if step == 0 {
			continue
		}
		labels, wrong := w.checked(w.key(&w.series[i]))
		if wrong != "" {
			continue
		}
		begins := s.table.guessed[n]
		delete(s.table.guessed, n)
		e.state &^= guess
		job := core.LabelValue(labels, "job")
		step = cmp.Or(s.table.learned.Step(job), told.Learn(job, step))
		if int32(step) == e.step {
			s.table.learned.Learn(job, step)
			continue
		}
		rs = append(rs, replacement(labels, sender, begins, e, step, created))
		of = append(of, second{n, i, job, step, at})
	}
	if len(rs) > 0 {
		s.replace(ctx, rs, of)
	}
}

// replacement returns what replaces e, whose labels are given: the series as it was made, with
// another step.
func replacement(labels []core.Label, sender string, begins rra.Time, e *series, step int64, created rra.Time) receivers.Replacement {
	counts := e.state&zeroes != 0
	q := receivers.Request{
		Identity: Identify(labels), Sender: sender, Time: begins, Untyped: true,
		Define: func(own int64) *rra.Definition { return definition(cmp.Or(own, step), counts) },
	}
	zero := rra.Time(0)
	if counts { // as begins and add have had it
		before := resets.Counter{At: e.last.at - rra.Time(recent.Microseconds()), Value: math.NaN()}
		if at, ok := before.Zero(e.last.at, e.last.value, created); ok {
			zero = at
		}
	}
	return steps.Replacement(q, zero, e.last.at, e.last.value)
}

// replace replaces the series of.
func (s *server) replace(ctx context.Context, rs []receivers.Replacement, of []second) {
	err := steps.Replace(ctx, s.sink, rs, func(i int, err error) {
		x := &of[i]
		e := &s.table.series[x.number]
		switch {
		case err == nil:
			delete(s.table.byRef, e.ref)
			e.ref, e.step = rs[i].Ref, int32(rs[i].Definition.Step)
			s.table.byRef[e.ref] = x.number
		case errors.Is(err, receivers.ErrChanged): // by samples that show the step better
			e.state &^= lastKnown
			if s.load(ctx, e) != nil || e.state&lastKnown == 0 {
				return
			}
			x.step = cmp.Or(steps.Apart(x.at-e.last.at), x.step)
		}
		s.table.learned.Learn(x.job, x.step)
	})
	if err != nil { // they keep the step that was guessed
		s.cfg.Logger.Error("remotewrite: the step of series is not changed", "path", rs[0].Path, "series", len(rs), "err", err)
	}
}

// after returns the time of the first sample in series i of w that is behind the last one of e, cut
// as that one, and when the sender says that the counter began; 0: the series has no such sample.
func (w *work) after(i int, e *series, latest rra.Time) (at, created rra.Time) {
	offset := int64(0)
	if e.state&(offsetKnown|asSent) == offsetKnown {
		offset = int64(e.offset)
	}
	for _, x := range w.samples[w.series[i].from:w.series[i].to] {
		if at := milli(x.ms - offset); x.bits != staleBits && at > e.last.at && x.untimely(latest) == nil {
			return at, milli(cmp.Or(x.start, w.series[i].created))
		}
	}
	return 0, 0
}
