package remotewrite

import (
	"cmp"
	"context"
	"math"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/resets"
	"github.com/rondo-db/rondo/receivers/internal/steps"
	"github.com/rondo-db/rondo/rra"
)

// learn gives series whose step was guessed their step, as soon as the second sample tells it. The
// series is replaced by one of that step which has had the first sample. It holds s.order.
func (s *server) learn(ctx context.Context, w *work, sender string) {
	var rs []receivers.Replacement
	var of []uint32 // the numbers of their series
	for i, n := range w.entry {
		if n == none || w.series[i].fault != "" || s.table.series[n].state&(guess|lastKnown|offered) != guess|lastKnown|offered {
			continue
		}
		e := &s.table.series[n]
		step, created := w.after(i, e)
		if step == 0 {
			continue
		}
		labels, wrong := w.checked(w.series[i].key)
		if wrong != "" {
			continue
		}
		e.state &^= guess
		s.table.guessed--
		step = s.table.learned.Learn(core.LabelValue(labels, "job"), step)
		if int32(step) == e.step {
			continue
		}
		counts := e.state&zeroes != 0
		q := receivers.Request{
			Identity: Identify(labels), Sender: sender, Untyped: true,
			Define: func(own int64) *rra.Definition { return definition(cmp.Or(own, step), counts) },
		}
		zero := rra.Time(0)
		if counts { // as begins and add have had it
			before := resets.Counter{At: e.last.at - rra.Time(recent.Microseconds()), Value: math.NaN()}
			if at, ok := before.Zero(e.last.at, e.last.value, created); ok {
				zero = at
			}
		}
		rs = append(rs, steps.Replacement(q, zero, e.last.at, e.last.value))
		of = append(of, n)
	}
	if len(rs) > 0 {
		s.replace(ctx, rs, of)
	}
}

// replace replaces the series of.
func (s *server) replace(ctx context.Context, rs []receivers.Replacement, of []uint32) {
	err := steps.Replace(ctx, s.sink, rs, func(i int) {
		e := &s.table.series[of[i]]
		delete(s.table.byRef, e.ref)
		e.ref, e.step = rs[i].Ref, int32(rs[i].Definition.Step)
		s.table.byRef[e.ref] = of[i]
	})
	if err != nil { // they keep the step that was guessed
		s.cfg.Logger.Error("remotewrite: the step of series is not changed", "path", rs[0].Path, "series", len(rs), "err", err)
	}
}

// after returns the time from the last sample of e to the first one behind it in series i of w, as
// a step, and when the sender says that the counter began; 0: the series has no such sample.
func (w *work) after(i int, e *series) (step int64, created rra.Time) {
	last := int64(e.last.at) / 1000
	if e.state&(offsetKnown|asSent) == offsetKnown {
		last += int64(e.offset)
	}
	for _, x := range w.samples[w.series[i].from:w.series[i].to] {
		if x.bits == staleBits || x.ms <= last {
			continue
		}
		begun := w.series[i].created
		if x.start != 0 {
			begun = x.start
		}
		return steps.Apart(milli(x.ms) - milli(last)), milli(begun)
	}
	return 0, 0
}
