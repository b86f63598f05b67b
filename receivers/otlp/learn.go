package otlp

import (
	"cmp"
	"errors"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/resets"
	"github.com/rondo-db/rondo/receivers/internal/steps"
	"github.com/rondo-db/rondo/rra"
)

// stored notes that the batch is stored.
func (e *export) stored() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.begins {
		f.stored = true
	}
	clear(e.begins)
	e.begins = e.begins[:0]
}

// second keeps a value if it shows the step of its series, or if another value that does is on its
// way. Otherwise it returns false. e.mu is held.
func (e *export) second(s *series, p *part, r reading) bool {
	f := s.first
	if f == nil || r.at <= f.at {
		return false
	}
	q, err := e.request(p, r)
	if !f.stored || err != nil { // the guess stays: the first value is on its way to the old series
		s.first = nil
		return false
	}
	e.seconds = append(e.seconds, second{s, q, r})
	return true
}

// A learner is a series that needs another step.
type learner struct {
	series *series
	job    string
	step   int64
	at     rra.Time // of its second value
}

// learn settles the steps of the series of e.seconds, and takes their values. Series whose step was
// guessed wrong are replaced by series that have had the first value, unless somebody else has
// written to them, such as another node: those keep their step. Until that is done no request adds
// values to them.
func (e *export) learn() {
	if len(e.seconds) == 0 {
		return
	}
	e.learning.Lock()
	defer e.learning.Unlock()
	of, rs := e.replacements()
	if len(rs) > 0 {
		e.replace(of, rs)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.seconds {
		x := &e.seconds[i]
		x.series.first = nil
		e.add(x.series, x.reading)
	}
	clear(e.seconds)
	e.seconds = e.seconds[:0]
}

// replacements returns the series of e.seconds that need another step, and by what they are
// replaced.
func (e *export) replacements() (of []learner, rs []receivers.Replacement) {
	e.mu.Lock()
	defer e.mu.Unlock()
	seen := make(map[*series]bool)
	var told steps.Groups // what the values say of jobs, if their series have no others
	for i := range e.seconds {
		x := &e.seconds[i]
		f := x.series.first
		if f == nil || seen[x.series] { // another request was first
			continue
		}
		seen[x.series] = true
		step := steps.Apart(x.reading.at - f.at)
		if f.job != "" {
			step = cmp.Or(e.learned.Step(f.job), told.Learn(f.job, step))
		}
		if step == f.step {
			e.learnOf(f.job, step)
			continue
		}
		q, m := x.request, x.reading.mode
		q.Time, q.Define = f.begins, func(own int64) *rra.Definition { return define(m, cmp.Or(own, step)) }
		of = append(of, learner{x.series, f.job, step, x.reading.at})
		zero := f.zero
		if m.adds() {
			zero -= zero % rra.Seconds(step) // no step is known in part
		}
		rs = append(rs, steps.Replacement(q, zero, f.at, f.value))
	}
	return of, rs
}

// replace replaces the series of. e.learning is held.
func (e *export) replace(of []learner, rs []receivers.Replacement) {
	err := steps.Replace(e.ctx, e.sink, rs, func(i int, err error) {
		x := &of[i]
		changed := errors.Is(err, receivers.ErrChanged)
		var last resets.Counter
		if changed {
			if last.At, last.Value, err = e.sink.Last(e.ctx, x.series.Ref); err != nil {
				return // the store refuses its values, and says why
			}
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		switch {
		case changed: // by values that show the step better
			x.series.last = last
			x.step = cmp.Or(steps.Apart(x.at-last.At), x.step)
		case err == nil:
			x.series.Ref, x.series.def = rs[i].Ref, rs[i].Definition
		}
		e.learnOf(x.job, x.step)
	})
	if err == nil {
		return
	}
	if ok, held := e.lines.Allow("step", e.now); ok { // they keep the step that was guessed
		e.cfg.Logger.Error("otlp: the step of series is not changed", "path", rs[0].Path, "series", len(rs), "err", err, "held_back_lines", held)
	}
}
