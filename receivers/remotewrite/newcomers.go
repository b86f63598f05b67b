package remotewrite

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// recent is how long before its first sample a counter may have begun so that its series begins
// then too.
const recent = 10 * time.Minute

// A newcomer is a series of a request that the table does not know, or that was refused.
type newcomer struct {
	i      int // index of the series in the request
	labels []core.Label
	counts bool
}

// newcomers sets w.news to the next series of w that are to be found or made, and w.reqs to what
// the sink is asked for. It holds s.order.
func (s *server) newcomers(w *work, sender string, now time.Time) {
	w.forgetNews()
	if w.again {
		return // the sink has failed
	}
	size := 0
	for ; w.next < len(w.entry) && len(w.news) < askAtOnce && size < receivers.MaxNewcomerBytes; w.next++ {
		i := w.next
		if !s.due(w, i, now) {
			continue
		}
		x, ok := s.newcomer(w, i, now)
		if !ok {
			continue
		}
		for _, l := range x.labels {
			size += len(l.Name) + len(l.Value)
		}
		w.news = append(w.news, x)
		q := receivers.Request{Identity: Identify(x.labels), Sender: sender, Untyped: true, Define: s.set.levels, Learn: s.set.step == 0}
		if x.counts {
			q.Define = s.set.counters
		}
		if job := core.LabelValue(x.labels, "job"); job != "" {
			q.Group = "prometheus/" + job
		}
		at, created := w.begins(i, s.cfg.Latest(now))
		q.Time, q.Since = at, sinceOf(at, created)
		if zero := created; created != 0 {
			if !x.counts {
				zero = 0
			}
			q.Begins = func(first rra.Time) (rra.Time, rra.Time) { return sinceOf(first, created), zero }
		}
		w.reqs = append(w.reqs, q)
	}
}

// due reports whether series i of w is to be found or made.
func (s *server) due(w *work, i int, now time.Time) bool {
	if w.series[i].fault != "" {
		return false
	}
	n := w.entry[i]
	if n == none {
		return true
	}
	r := s.table.refused[n]
	return s.table.series[n].ref == 0 && r.Due(s.asks.Tick(now))
}

// admitAll enters what the sink has said of w.news. It holds s.order.
func (s *server) admitAll(w *work, now time.Time) {
	if w.failed != nil {
		s.later(w, receivers.FailureReason(w.failed), now)
		return
	}
	for i := range w.news {
		s.resolved(w, &w.news[i], &w.reqs[i], now)
	}
	s.Series.Store(int64(s.table.keys.Len()))
}

// newcomer returns series i of w as one that is to be resolved. ok is false if its labels are
// wrong, or if there is nothing to make a series for.
func (s *server) newcomer(w *work, i int, now time.Time) (x newcomer, ok bool) {
	labels, wrong := w.checked(w.key(&w.series[i]))
	if wrong != "" {
		w.series[i].fault = wrong
		return x, false
	}
	if !w.living(i, s.cfg.Latest(now)) {
		return x, false
	}
	name := core.LabelValue(labels, NameLabel)
	k := w.series[i].kind
	if k == kindUnknown {
		k = s.families.kind(name)
	}
	return newcomer{i: i, labels: labels, counts: k.counts(name)}, true
}

// staleBits is the value that marks the end of a series, a NaN of its own.
const staleBits = 0x7ff0000000000002

// living reports whether series i of w has a sample that is not the mark of its end, and whose time
// is possible. A series that has ended and is not known is not made, and no sample that is refused
// makes one.
func (w *work) living(i int, latest rra.Time) bool {
	for _, x := range w.samples[w.series[i].from:w.series[i].to] {
		if x.bits != staleBits && x.untimely(latest) == nil {
			return true
		}
	}
	return false
}

// begins returns the time of the first sample of series i of w, and when its counter began; 0: the
// sender does not say. The series is living.
func (w *work) begins(i int, latest rra.Time) (at, created rra.Time) {
	x := &w.series[i]
	first := x.from
	for w.samples[first].untimely(latest) != nil {
		first++
	}
	at = milli(w.samples[first].ms)
	created = milli(cmp.Or(w.samples[first].start, x.created))
	return at, created
}

// sinceOf returns since when a series counts whose first sample comes at a time, if its counter
// began a moment before; 0: it did not.
func sinceOf(at, created rra.Time) rra.Time {
	if created > at-rra.Time(recent.Microseconds()) && created < at && created > 2e6 {
		return rra.Seconds(created.Unix() - 1)
	}
	return 0
}

// later notes that the series of w.news, and those that were to come after them, could not be asked
// for, and that the request is to be sent again.
func (s *server) later(w *work, why receivers.Reason, now time.Time) {
	put := func(i int) {
		n := int(w.series[i].to - w.series[i].from)
		w.entry[i], w.series[i].later = none, true
		w.retry(n, "new series cannot be made now")
		w.dropped[why] += n
	}
	for _, x := range w.news {
		put(x.i)
	}
	for i := w.next; i < len(w.entry); i++ {
		if s.due(w, i, now) {
			put(i)
		}
	}
}

// resolved enters the outcome of a request into the table.
func (s *server) resolved(w *work, x *newcomer, r *receivers.Request, now time.Time) {
	if r.Err != nil {
		text := r.Err.Error()
		if errors.Is(r.Err, core.ErrSeriesLimit) {
			text = core.ErrSeriesLimit.Error() // many series share it
		}
		s.refuse(w, x.i, refusal{r.Series(s.asks.Tick(now)), text})
		return
	}
	t := s.table
	number, ok := t.byRef[r.Ref]
	if !ok {
		number = s.admit(w.entry[x.i], x, r)
		w.fresh = append(w.fresh, fresh{number, x.i})
	}
	s.enterKey(w, x.i, number)
}

// admit enters a series into the table and returns its number. was is its number if it was refused
// before, else none.
func (s *server) admit(was uint32, x *newcomer, r *receivers.Request) uint32 {
	t, number := s.table, was
	if number == none {
		number = t.append(series{})
	}
	delete(t.refused, number)
	e := &t.series[number]
	source, _ := receivers.OnlySource(r.Definition)
	*e = series{ref: r.Ref, step: int32(r.Definition.Step), kind: source.Kind}
	if source.Kind == rra.DDerive && source.Min >= 0 {
		e.state |= zeroes
	}
	if r.Made { // the store need not be asked
		e.last = sample{r.Starts(r.Definition), math.NaN()}
		e.state |= lastKnown
		if r.Learn {
			e.state |= guess
		}
	}
	t.byRef[r.Ref] = number
	name := core.LabelValue(x.labels, NameLabel)
	t.byName[name] = append(t.byName[name], number)
	return number
}

// refuse remembers why series i of w is not there.
func (s *server) refuse(w *work, i int, r refusal) {
	number := w.entry[i]
	if number == none { // the request may have the key twice
		number = s.table.look(w.key(&w.series[i]))
	}
	if number == none {
		number = s.table.append(series{})
	}
	s.table.refused[number] = r
	s.enterKey(w, i, number)
}

// enterKey makes the key of series i of w a key of a series of the table.
func (s *server) enterKey(w *work, i int, number uint32) {
	switch was := w.entry[i]; {
	case was == none:
		s.table.add(w.key(&w.series[i]), number)
	case was != number: // it was refused before
		s.table.move(was, number)
	}
	w.entry[i] = number
}

// append adds a series and returns its number.
func (t *table) append(x series) uint32 {
	if len(t.series) == cap(t.series) {
		t.series = slices.Grow(t.series, max(1024, len(t.series)))
	}
	t.series = append(t.series, x)
	return uint32(len(t.series) - 1)
}

// move gives the keys of one series to another.
func (t *table) move(from, to uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range uint32(t.keys.Len()) {
		if n := t.keys.At(i); *n == from {
			*n = to
		}
	}
	delete(t.refused, from)
}
