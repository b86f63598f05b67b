package statsd

import (
	"context"
	"errors"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Other nodes of a cluster flush the same metrics at the same seconds. The store takes one sample
// of a second, and refuses the others as late. What was counted here is a part of the whole then:
// it goes behind the other sample, a microsecond later, and consolidation adds the two.
//
// A sample that is late because the clock was set back is not stored later. It is one if this
// node has flushed that second before, or if the store has a sample of a whole step later.

// attempts is how often a sample is handed over at most. To be late so often takes as many nodes.
const attempts = 16

// store hands over the samples of a flush at the second at, in parts.
func (s *server) store(ctx context.Context, at int64, samples []sample) {
	s.flushes++
	f := flush{server: s, ctx: ctx, at: rra.Seconds(at), again: at > s.newest}
	s.newest = max(s.newest, at)
	for part := range slices.Chunk(samples, receivers.MaxNewcomers) {
		for try := 1; len(part) > 0; try++ {
			part = f.store(part, try)
		}
	}
	if f.late > 0 {
		s.Drop(receivers.Late, f.late)
		if !s.late {
			s.cfg.Logger.Warn("statsd: samples are dropped because their series have later ones: the clock was set back, or others write them", "samples", f.late)
		}
	}
	s.late = f.late > 0
}

// A flush is the samples of one second on their way into the sink.
type flush struct {
	*server
	ctx   context.Context
	at    rra.Time
	again bool   // late samples are handed over again
	late  uint64 // samples
	down  error  // the sink has failed
}

// store hands over samples, and returns those that are to be handed over again.
func (f *flush) store(part []sample, try int) (again []sample) {
	f.resolve(f.ctx, part)
	f.batch.Reset()
	sent, values := make([]sample, 0, len(part)), 0
	for _, x := range part {
		if x.m.Ref == 0 {
			f.Drop(x.m.Why, 1)
			continue
		}
		row := f.rowOf(&x)
		f.batch.Add(x.m.Ref, x.at, row...)
		sent, values = append(sent, x), values+len(row)
	}
	if len(sent) == 0 {
		return nil
	}
	err := f.submit()
	if f.down == nil && try == 1 {
		f.Samples.Add(uint64(len(sent)))
		f.Values.Add(uint64(values))
	}
	r := f.lost(err)
	if r == nil {
		return nil
	}
	counted := r.Late + r.Other
	for _, y := range r.First[:min(counted, len(r.First))] {
		x := sent[y.Index]
		if !f.refused(&x, y.Err, try == attempts) {
			continue
		}
		if x.m.Ref == 0 && x.m.typ.rises() && !x.idle { // of the new series it must be the step's
			again = append(again, sample{x.m, f.at - rra.Seconds(f.set.step), zero(x.m.typ, f.set.stats), true})
		}
		again = append(again, x)
	}
	f.Drop(receivers.State, uint64(max(counted-len(r.First), 0))) // they are not named
	// What is named beyond those was stored. But its reference is to be asked for again.
	if len(r.First) > counted {
		f.metrics.resolveAgain()
	}
	return again
}

// submit stores the batch. It waits for memory of the store as long as Config.Patience. When it has
// waited in vain, the rest of the flush is lost: it would wait as long.
func (f *flush) submit() error {
	if f.down != nil {
		return f.down
	}
	ctx, cancel := context.WithTimeout(f.base, f.cfg.Patience)
	defer cancel()
	f.batch.Rejections = f.batch.Len()
	p, err := f.sink.Submit(ctx, &f.batch)
	if err != nil {
		f.down = err
		return err
	}
	if f.renewal.Due(p, f.cfg.Now()) {
		f.metrics.resolveAgain()
	}
	return p.Wait()
}

// lost counts the samples that were not stored because the sink has failed, and returns which it
// has refused; nil: none.
func (f *flush) lost(err error) *core.RejectedError {
	r, missing := receivers.LossOf(err, f.batch.Len())
	if missing > 0 {
		f.Drop(receivers.FailureReason(err), uint64(missing))
		f.logs.Log(f.cfg.Logger.Error, "failed", f.cfg.Now(), "statsd: samples not stored", "samples", missing, "err", err)
	}
	return r
}

// refused reports whether a sample that was refused is to be handed over again. Otherwise it counts
// it as dropped, if something is lost.
func (f *flush) refused(x *sample, err error, last bool) bool {
	late, isLate := errors.AsType[*rra.TimeError](err)
	switch {
	case errors.Is(err, core.ErrNotFound): // the series was dropped
		x.m.Series = receivers.Series{}
		if !last {
			return true
		}
		f.Drop(receivers.State, 1)
	case !isLate:
		f.Drop(receivers.State, 1)
	case x.idle:
	case f.again && !last && x.m.typ.rises() && late.Last-f.at < rra.Seconds(f.set.step):
		x.at = late.Last + 1
		return true
	default:
		f.late++
	}
	return false
}

// rowOf returns the values of a sample in the order of the data sources of its series.
func (s *server) rowOf(x *sample) []rra.Value {
	if x.m.typ != Timer {
		return x.values
	}
	s.row = s.row[:0]
	for _, k := range x.m.columns {
		v := rra.Unknown
		if k >= 0 {
			v = x.values[k]
		}
		s.row = append(s.row, v)
	}
	return s.row
}

// tick returns the ticks of the retries of series: a step for each flush, whatever the clock says.
func (s *server) tick() uint32 { return uint32(s.flushes * s.set.step) }

// resolve asks the sink for the series that samples lack.
func (s *server) resolve(ctx context.Context, part []sample) {
	var metrics []*metric
	var reqs []receivers.Request
	for _, x := range part {
		if m := x.m; !m.asked && m.Due(s.tick()) {
			m.asked = true
			metrics, reqs = append(metrics, m), append(reqs, s.request(x))
		}
	}
	_ = s.asks.Resolve(ctx, reqs) // it is logged, and store counts what it costs
	for i, m := range metrics {
		m.asked, m.Series = false, reqs[i].Series(s.tick())
	}
}

// request returns the request for the series of a sample.
func (s *server) request(x sample) receivers.Request {
	return receivers.Request{
		Identity: x.m.id,
		Sender:   x.m.sender,
		Time:     x.at,
		Define: func(step int64) *rra.Definition {
			if step == 0 {
				step = s.set.step
			}
			return define(x.m.typ, s.set.stats, step, s.set.step)
		},
		Fits: func(d *rra.Definition) bool { return x.m.fit(d, s.set.stats) },
	}
}
