package remotewrite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/resets"
	"github.com/rondo-db/rondo/rra"
)

// sampleBytes is how many bytes a sample takes, and a reading of 0 before it, on its way to the
// store, while the batch grows by doubling.
const sampleBytes = 2 * 2 * 40

// take stores the samples and the metadata of w, and notes in it what is refused. An error says
// that the message cannot be read, and that nothing is stored. asking ends when nobody waits for
// the answer any more.
func (s *server) take(ctx, asking context.Context, w *work, sender string) error {
	if err := w.charge(len(w.samples) * sampleBytes); err != nil {
		return err
	}
	if !s.table.find(w) && w.version != 2 {
		for i, n := range w.entry {
			if n != none || w.series[i].fault != "" {
				continue
			}
			if _, err := w.parse(w.series[i].labels); err != nil {
				return err
			}
		}
	}
	now := s.cfg.Now()
	if !s.known(asking, w, sender, now) {
		return nil
	}
	p, err := s.check(ctx, w, sender, now)
	s.leave()
	if err == nil && p != nil {
		if err := s.Wait(&w.batch, receivers.Filled{Pending: p, Put: w.zeros}); err != nil {
			s.rejected(ctx, w, err)
		}
		s.flights.of(w.flight).Add(-1)
	}
	if len(w.texts) > 0 {
		s.describe(ctx, w, sender, now)
	}
	return nil
}

const (
	// maxTries is how often the series of a request are asked for, which others may have dropped,
	// or may have made the table forget, since they were there.
	maxTries  = 3
	askAtOnce = 2000             // series that the sink is asked for at once
	askFor    = 20 * time.Second // how long the sink may take for all; nobody else waits
)

// known takes s.order and sees to it that the table knows the series of w. While new ones are being
// made, a few at a time, it lets others have s.order. It returns false, and does not hold s.order,
// if it cannot have it in time.
func (s *server) known(ctx context.Context, w *work, sender string, now time.Time) bool {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	for tries := 0; ; {
		if !s.enter() {
			s.Drop(receivers.Overload, uint64(max(1, len(w.samples))))
			w.retry(len(w.samples), "the store does not keep up")
			return false
		}
		if s.refresh(w) {
			tries++
		}
		s.admitAll(w, now)
		if s.newcomers(w, sender, now); len(w.news) == 0 {
			return true
		}
		if tries > maxTries || s.asks.Paused() {
			s.later(w, receivers.Overload, now)
			return true
		}
		s.leave()
		w.failed = s.asks.Ask(ctx, w.reqs)
	}
}

// refresh makes w.entry the entry that the table has now, and reports whether another one had to be
// looked up. The table is emptied if references may be stale, or if it is full.
func (s *server) refresh(w *work) (changed bool) {
	if g := s.Generation(); g != s.generation || s.table.keys.Full() {
		s.generation = g
		s.table.forget()
	}
	if w.epoch == s.table.epoch {
		return false
	}
	s.table.find(w)
	w.fresh, w.next = w.fresh[:0], 0
	return true
}

// check checks the samples of w and hands them to the sink. It holds s.order. The error says that
// the sink took nothing; p is nil if it was given nothing.
func (s *server) check(ctx context.Context, w *work, sender string, now time.Time) (p receivers.Pending, err error) {
	latest := s.cfg.Latest(now)
	s.learnMetadata(w)
	s.flight++
	w.flight = s.flight
	*s.bodies.of(w.flight) = w.hash
	for i := range w.series {
		s.addSeries(ctx, w, i, latest)
		w.series[i].end = uint32(w.batch.Len())
	}
	if w.batch.Len() == 0 {
		return nil, nil
	}
	w.batch.Rejections = w.batch.Len()
	if p, err = s.Submit(ctx, &w.batch, w.batch.Len()); err != nil {
		s.unknown(w)
		*s.bodies.of(w.flight) = 0
		w.retry(len(w.samples)-w.refusals.samples, "the store takes no samples: "+err.Error())
	} else if p != nil {
		s.flights.of(w.flight).Add(1)
	}
	return p, err
}

// addSeries adds the samples of series i of w to the batch.
func (s *server) addSeries(ctx context.Context, w *work, i int, latest rra.Time) {
	x := &w.series[i]
	n := int(x.to - x.from)
	if x.native > 0 {
		w.native += int(x.native)
		w.dropped[receivers.Unsupported] += int(x.native)
		w.tell(func() string { return w.name(x) + ": native histograms are not stored" })
	}
	if x.exemplars > 0 {
		w.dropped[receivers.Unsupported] += int(x.exemplars)
	}
	number := w.entry[i]
	switch {
	case x.fault != "":
		w.refuse(receivers.Malformed, n, func() string { return w.name(x) + ": " + x.fault })
		return
	case n == 0 || x.later:
		return
	case number == none: // no series was made for samples of a wrong time, and for marks of an end
		for j := x.from; j < x.to; j++ {
			if why := w.samples[j].untimely(latest); why != nil {
				w.refuseOne(x, j, why)
			}
		}
		return
	}
	e := &s.table.series[number]
	if e.ref == 0 {
		r := s.table.refused[number]
		w.refuse(r.Why, n, func() string { return w.name(x) + ": " + r.text })
		return
	}
	if e.state&lastKnown == 0 {
		if err := s.load(ctx, e); err != nil {
			w.retry(n, "the last sample of a series cannot be read")
			w.dropped[receivers.FailureReason(err)] += n
			return
		}
	}
	s.addSamples(ctx, w, x, e, latest)
}

// addSamples adds the samples of a series to the batch.
func (s *server) addSamples(ctx context.Context, w *work, x *wireSeries, e *series, latest rra.Time) {
	// Of a series that nothing was offered to since the start only the last sample is known. If the
	// request has it, the request was stored before, with the samples in front of it.
	fresh := e.state&offered == 0
	var early []uint32 // samples before the last one, while it has not come
	for j := x.from; j < x.to; j++ {
		switch why := s.add(ctx, w, e, &w.samples[j], x.created, latest); {
		case why == sentAgain:
			early = nil
		case why == wrongOrder && fresh:
			early = append(early, j)
		case why != nil:
			w.refuseOne(x, j, why)
		}
	}
	for _, j := range early {
		w.refuseOne(x, j, wrongOrder)
	}
}

func (w *work) refuseOne(x *wireSeries, j uint32, why *wrong) {
	w.refuse(why.reason, 1, func() string {
		return fmt.Sprintf("%s at %s: %s", w.name(x), time.UnixMilli(w.samples[j].ms).UTC().Format("2006-01-02T15:04:05.000Z"), why.text)
	})
}

// load reads the last sample of a series from the store. A series that was dropped has none: the
// store refuses its samples, which makes the table forget it.
func (s *server) load(ctx context.Context, e *series) error {
	at, value, err := s.sink.Last(ctx, e.ref)
	switch {
	case err == nil:
		e.state |= lastKnown
	case errors.Is(err, core.ErrNotFound):
		at, value, err = math.MinInt64, math.NaN(), nil
	default:
		return err
	}
	e.last = sample{at, value}
	return nil
}

// A wrong is why a sample is refused.
type wrong struct {
	reason receivers.Reason
	text   string
}

var (
	wrongFuture    = &wrong{receivers.State, "the sample is too far in the future"}
	wrongEarly     = &wrong{receivers.State, "the sample is from before 1970"}
	wrongDuplicate = &wrong{receivers.Late, "duplicate sample for timestamp"}
	wrongOrder     = &wrong{receivers.Late, "out of order sample"}
	wrongFraction  = &wrong{receivers.State, "the data source takes whole numbers only"}

	sentAgain = &wrong{} // nothing is wrong: it is the last sample of its series
)

// maxMilli is the last time that is looked at, in the year 2527.
const maxMilli = 1 << 44

// untimely returns why a sample is refused for its time, whatever its series has.
func (x *wireSample) untimely(latest rra.Time) *wrong {
	switch {
	case x.ms < 2000:
		return wrongEarly
	case x.ms > maxMilli || rra.Time(x.ms)*1000 > latest:
		return wrongFuture
	}
	return nil
}

// add adds one sample to the batch. It returns why it does not; nil: it does, or the series had the
// sample before.
func (s *server) add(ctx context.Context, w *work, e *series, x *wireSample, created int64, latest rra.Time) *wrong {
	if why := x.untimely(latest); why != nil {
		return why
	}
	sent := rra.Time(x.ms) * 1000
	value := math.Float64frombits(x.bits)
	before := s.bodies.of(e.flight) // the request that has offered the last sample
	again := before != s.bodies.of(w.flight) && *before == w.hash
	at := s.cut(e, x.ms, sent, again || e.state&offered == 0 && e.last.same(value))
	late := at <= e.last.at
	if late && s.flights.of(e.flight).Load() == 0 {
		switch {
		case again:
			return sentAgain
		case at < e.last.at && s.cfg.Held && e.state&offered != 0: // the store judges
		case at < e.last.at:
			return wrongOrder
		case e.last.same(value):
			return sentAgain
		default:
			return wrongDuplicate
		}
	}
	v, ok := receivers.ReadingFor(e.kind, value)
	if !ok {
		return wrongFraction
	}
	if e.state&zeroes != 0 && !late && !math.IsNaN(value) {
		if x.start != 0 {
			created = x.start
		}
		if zero, ok := s.begun(ctx, e, at, value, milli(created)); ok {
			w.zeros = append(w.zeros, w.batch.Len())
			w.batch.Add(e.ref, zero, receivers.Zero)
		}
	}
	w.batch.Add(e.ref, at, v)
	if late { // the store judges: what is on its way may not arrive
		return nil
	}
	e.last, e.flight = sample{at, value}, w.flight
	if e.state&offered != 0 {
		e.state &^= guess // if it was wrong, a Generation gives the series anew
	}
	e.state |= offered
	return nil
}

// begun returns when a reading of 0 must be stored before a sample, because the counter has begun
// again: see resets.Counter. Another node of a cluster may have stored more than this one.
func (s *server) begun(ctx context.Context, e *series, at rra.Time, value float64, created rra.Time) (zero rra.Time, ok bool) {
	last := resets.Counter{At: e.last.at, Value: e.last.value}
	if zero, ok = last.Zero(at, value, created); ok {
		if t, v, err := s.sink.Last(ctx, e.ref); err == nil && t > last.At {
			return resets.Counter{At: t, Value: v}.Zero(at, value, created)
		}
	}
	return zero, ok
}

// milli returns a time in milliseconds; 0 if it is not one at which anything can have begun.
func milli(ms int64) rra.Time {
	if ms < 0 || ms > maxMilli {
		return 0
	}
	return rra.Time(ms) * 1000
}

// offCentre is how far the offset of times may be from the one before to count as constant, in
// milliseconds.
const offCentre = 10

// cut returns the time at which a sample is stored. Times of a series that always have the same
// offset in a second, or in the step, are stored without it. again says that the sample may be the
// last one, sent once more.
func (s *server) cut(e *series, ms int64, sent rra.Time, again bool) rra.Time {
	unit := int64(1000)
	switch {
	case s.set.round == never || e.state&asSent != 0:
		return sent
	case s.set.round == toStep && e.state&guess != 0:
		return sent // the step is not known yet
	case s.set.round == toStep:
		unit = 1000 * int64(e.step)
	}
	if e.state&offsetKnown == 0 {
		e.offset = int32(ms % unit)
		e.state |= offsetKnown
	}
	off := ms - int64(e.offset)
	whole := (off + unit/2) / unit * unit // the nearest
	at := rra.Time(whole) * 1000
	another := at < e.last.at && sent >= e.last.at || at == e.last.at && sent > at && !again
	if d := off - whole; another || d < -offCentre || d > offCentre {
		e.state |= asSent
		return sent
	}
	return at
}

// unknown forgets the last samples of the series of w, because the store has not taken theirs. They
// are read from the store when they are needed.
func (s *server) unknown(w *work) {
	if w.epoch != s.table.epoch {
		return
	}
	for _, n := range w.entry {
		if n != none {
			s.table.series[n].state &^= lastKnown | offered
		}
	}
}

// before returns how many samples the store has refused because it had them before, by the same
// request: the last one of their series in w is the last one there. It holds s.order.
func (s *server) before(ctx context.Context, w *work, r *core.RejectedError) (n int) {
	for _, f := range r.First {
		i := sort.Search(len(w.series), func(i int) bool { return int(w.series[i].end) > f.Index })
		e := s.table.series[w.entry[i]]
		last := e.last
		late, ok := errors.AsType[*rra.TimeError](f.Err)
		if ok && *s.bodies.of(e.flight) == w.hash && late.Last == last.at && s.load(ctx, &e) == nil && e.last.at == last.at && e.last.same(last.value) {
			n++
		}
	}
	return n
}

// rejected notes in w what the store has refused.
func (s *server) rejected(ctx context.Context, w *work, err error) {
	r, ok := errors.AsType[*core.RejectedError](err)
	s.order <- struct{}{} // it is held for a bounded time
	had := 0
	if ok && w.epoch == s.table.epoch {
		had = s.before(ctx, w, r)
	}
	s.unknown(w)
	*s.bodies.of(w.flight) = 0
	s.leave()
	if !ok {
		w.retry(len(w.samples)-w.refusals.samples, "the samples are not stored: "+err.Error())
		return
	}
	if r.Other == 0 && r.Late <= had {
		return // the first attempt, which was on its way or came to another node, has arrived
	}
	w.refusals.samples += r.Late + r.Other - had // Wait has counted them
	w.tell(func() string { return "out of order sample: " + err.Error() })
}
