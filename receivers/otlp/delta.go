package otlp

import (
	"math"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/steps"
	"github.com/rondo-db/rondo/rra"
)

// Deltas are ABSOLUTE readings: each says what was counted since the reading before it, and
// consolidation adds them. Nothing is added up here, so that it does not matter which node of a
// cluster takes a delta.
//
// An ABSOLUTE reading counts for all the time since the one before it, and is unknown if that is
// more than the heartbeat. A delta says when it begins, and many clients send none while nothing is
// counted. So readings of 0 are put in before a delta that does not begin where the last one that
// this node has seen has ended. If another node has stored later deltas meanwhile, the store
// refuses the 0 as late, and nothing is lost by it. Where this node has seen none for longer than
// the heartbeat, the store is asked for the last one.

// deltaHeartbeat is the heartbeat of new series of deltas, if not more. A client that sends no
// delta has counted nothing.
const deltaHeartbeat = steps.Most

// addDelta hands over a value of a series of deltas. Only the store says that it is late: another
// node may have stored what came before. e.mu is held.
func (e *export) addDelta(s *series, r reading) {
	e.fill(s, r)
	e.put(s, r.at, r.value)
	s.last.At, s.last.Value = max(s.last.At, r.at), r.value
}

// fill puts in readings of 0 for the time before a delta. If there is a gap that is unknown, it
// begins and ends at whole steps, so that no step is known in part: rrdtool's consolidation would
// stretch or drop what was counted in it. Full hours are whole steps of whatever step is learned.
func (e *export) fill(s *series, r reading) {
	last, from := s.last.At, begin(s, r)
	if from-last > heartbeat(s.def) {
		step := rra.Seconds(s.def.Step)
		if hour := rra.Seconds(steps.Most); hour <= heartbeat(s.def) && hour%step == 0 {
			step = hour
		}
		known := from - from%step
		if end := last + (step-last%step)%step; end > last && end < known {
			e.fillAt(s, end, r.at)
		}
		if known > last && known < from {
			e.fillAt(s, known, r.at)
		}
	}
	if from > last {
		e.fillAt(s, from, r.at)
	}
}

// apart reports whether a delta begins so long after the last one that this node has seen that the
// time between them would be unknown.
func apart(s *series, r reading) bool {
	return s.Kind == rra.Absolute && begin(s, r)-s.last.At > heartbeat(s.def)
}

// fillAt puts in a reading of 0 at a time before a delta's.
func (e *export) fillAt(s *series, at, before rra.Time) {
	if at < before {
		e.zero(s, at)
	}
}

// begin returns since when a delta counts: when it says that it begins, but not so long ago that
// the reading would be unknown.
func begin(s *series, r reading) rra.Time {
	step := rra.Seconds(s.def.Step)
	earliest := r.at - heartbeat(s.def)
	earliest += (step - earliest%step) % step
	if r.start >= r.at {
		return earliest // it begins after its end
	}
	return max(r.start, earliest)
}

// heartbeat returns the heartbeat of the data source that takes values.
func heartbeat(d *rra.Definition) rra.Time {
	ds, _ := receivers.OnlySource(d)
	return rra.Seconds(ds.Heartbeat)
}

// sinceOf returns when a new series starts: at the full hour before its first delta. A step that
// is known in part would change what is counted in it, and the step is not known yet.
func sinceOf(r reading) rra.Time {
	from := r.at - 1
	if 0 < r.start && r.start < r.at {
		from = max(r.start, r.at-rra.Seconds(steps.Most))
	}
	return from - from%rra.Seconds(steps.Most)
}

// toCounter returns a delta as a reading of a series that an older version made, which is a counter
// or a level. A counter begins anew with each delta: a reading of 0 is put in before it, as in
// package resets. To a level the delta is added, which is right on one node only.
func (e *export) toCounter(s *series, r reading, counts bool) float64 {
	switch {
	case counts:
		if zero := max(s.last.At, begin(s, r)) + 1; zero < r.at {
			e.zero(s, zero)
		}
	case !math.IsNaN(s.last.Value) && !math.IsNaN(r.value):
		return s.last.Value + r.value
	}
	return r.value
}

// store stores the batch, of n values.
func (e *export) store(n int) error {
	e.batch.Rejections = 0
	if len(e.zeros) > 0 {
		e.batch.Rejections = n
	}
	p, err := e.Submit(e.ctx, &e.batch, n)
	if err != nil {
		return err
	}
	return e.Wait(&e.batch, receivers.Filled{Pending: p, Put: e.zeros})
}
