package otlp

import (
	"context"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// maxTold is how many different reasons an answer names.
const maxTold = 16

// An export is one request to store metrics.
type export struct {
	*intake
	*receivers.Requests
	dec  decoder
	ctx  context.Context
	from string // the client's address
	now  time.Time
	last rra.Time // the latest time that a data point may have
	tick uint32   // of now

	batch    core.Batch
	zeros    []int // which samples of batch were put in: they may be late
	news     receivers.Newcomers[key, reading]
	asked    []asked // of the requests of news
	names    nameTable
	named    int          // dec.fresh when the next four were made of a metric
	sent     string       // its name
	name     string       // the same as Prometheus has it
	nameErr  error        // there is no such name
	texts    []core.Label // what it says of itself
	origin   *origin      // of source, the last resource with a new series
	source   []byte
	key      []byte
	hashed   int // dec.fresh when metric was made
	metric   key
	one      [1]rra.Value
	points   int64 // values that came
	rejected int64 // of them not stored
	told     []string
	failed   error // the sink has failed
}

// An asked is what is known of a series that is asked for.
type asked struct {
	key   key
	texts []core.Label // what its metric says of itself
}

// A reading is a value on its way to its series.
type reading struct {
	mode      mode
	at, start rra.Time
	value     float64 // NaN: unknown
}

// begin makes e ready for a request.
func (e *export) begin(ctx context.Context, from string, now time.Time) {
	e.ctx, e.from, e.now, e.last = ctx, from, now, e.cfg.Latest(now)
	e.tick = e.asks.Tick(now)
	e.points, e.rejected, e.told, e.failed = 0, 0, e.told[:0], nil
	e.batch.Reset()
	e.zeros = e.zeros[:0]
	e.forgetNews()
}

// explain keeps a reason for the answer.
func (e *export) explain(what string) {
	if len(e.told) < maxTold && !slices.Contains(e.told, what) {
		e.told = append(e.told, what)
	}
}

// skip counts a data point that is left out.
func (e *export) skip(what string) {
	e.points++
	e.Drop(receivers.Malformed, 1)
	e.reject(what, 1)
}

func (e *export) reject(what string, n int64) {
	e.rejected += n
	e.explain(what)
}

// add hands a value over as a sample of a series. e.mu is held.
func (e *export) add(s *series, r reading) {
	if s.Kind == rra.Absolute {
		e.addDelta(s, r)
		return
	}
	if r.mode != gauge && r.at <= s.last.At {
		switch {
		case r.mode == counter && r.at < s.last.At && e.cfg.Held: // the store judges
			e.put(s, r.at, r.value)
		case r.mode != info: // which says the same again
			e.Drop(receivers.Late, 1)
			e.reject(textLate, 1)
		}
		return
	}
	counts := s.Kind == rra.DDerive || s.Kind == rra.Derive
	switch r.mode {
	case counter:
		if zero, ok := s.last.Zero(r.at, r.value, r.start); ok && counts {
			e.zero(s, zero)
		}
	case delta, balance:
		r.value = e.toCounter(s, r, counts)
	}
	e.put(s, r.at, r.value)
	s.last.At, s.last.Value = r.at, r.value
}

// zero puts a reading of 0 in, at which the counter of a series has begun, or which fills a gap.
func (e *export) zero(s *series, at rra.Time) {
	e.zeros = append(e.zeros, e.batch.Len())
	e.batch.Add(s.Ref, at, receivers.Zero)
}

// begun reports whether a counter has begun again since the last value that this node has seen.
func begun(s *series, r reading) bool {
	if r.mode != counter || s.Kind != rra.DDerive && s.Kind != rra.Derive {
		return false
	}
	_, ok := s.last.Zero(r.at, r.value, r.start)
	return ok
}

// put adds a sample to the batch.
func (e *export) put(s *series, at rra.Time, v float64) {
	var ok bool
	if e.one[0], ok = receivers.ReadingFor(s.Kind, v); !ok {
		e.Drop(receivers.State, 1)
		e.reject("a series takes whole numbers only", 1)
		return
	}
	e.batch.Add(s.Ref, at, e.one[:]...)
}

const textLate = "values are not after the last ones of their series"
