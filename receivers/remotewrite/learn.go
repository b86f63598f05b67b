package remotewrite

import (
	"context"

	"github.com/rondo-db/rondo/receivers"
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
		step := w.after(i, e)
		if step == 0 {
			continue
		}
		labels, wrong := w.checked(w.series[i].key)
		if wrong != "" {
			continue
		}
		e.state &^= guess
		s.table.guessed--
		job := valueOf(labels, "job")
		if known := s.table.learned[job]; known != 0 {
			step = known
		} else if len(s.table.learned) < maxJobs {
			s.table.learned[job] = step
		}
		if int32(step) == e.step {
			continue
		}
		counts := e.state&zeroes != 0
		rs = append(rs, receivers.Replacement{
			Request: receivers.Request{
				Identity: Identify(labels), Sender: sender, Time: e.last.at, Untyped: true,
				Define: func(own int64) *rra.Definition {
					if own == 0 {
						own = step
					}
					return definition(own, counts)
				},
			},
			Value: reading(e.last.value),
		})
		of = append(of, n)
	}
	if len(rs) > 0 {
		s.replace(ctx, rs, of)
	}
}

// replace replaces the series of.
func (s *server) replace(ctx context.Context, rs []receivers.Replacement, of []uint32) {
	ctx, cancel := receivers.Asking(ctx)
	defer cancel()
	err := s.sink.Replace(ctx, rs)
	for i, n := range of {
		if err == nil {
			err = rs[i].Err
		}
		if err != nil { // it keeps the step that was guessed
			s.cfg.Logger.Error("remotewrite: the step of series is not changed", "path", rs[i].Path, "series", len(rs), "err", err)
			return
		}
		e := &s.table.series[n]
		delete(s.table.byRef, e.ref)
		e.ref, e.step = rs[i].Ref, int32(rs[i].Definition.Step)
		s.table.byRef[e.ref] = n
	}
}

// after returns the time from the last sample of e to the first one behind it in series i of w, as
// a step; 0: the series has no such sample.
func (w *work) after(i int, e *series) int64 {
	last := int64(e.last.at) / 1000
	if e.state&(offsetKnown|asSent) == offsetKnown {
		last += int64(e.offset)
	}
	for _, x := range w.samples[w.series[i].from:w.series[i].to] {
		if x.bits != staleBits && x.ms > last {
			return apart(x.ms - last)
		}
	}
	return 0
}
