package remotewrite

import (
	"context"
	"errors"
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
	of     []int // indices of the series in the request
	labels []core.Label
	job    string
	counts bool
	made   bool  // Define was called without a step
	step   int64 // that it then returned
	guess  bool  // it is a guess
}

// resolve finds or makes the series of w that the table does not know. It holds s.order.
func (s *server) resolve(ctx context.Context, w *work, sender string, now time.Time) {
	var news []*newcomer
	var reqs []receivers.Request
	byPath := make(map[string]int)
	for i, n := range w.entry {
		if n != none && (s.table.series[n].ref != 0 || s.table.refused[n].retry > now.Unix()) {
			continue
		}
		if w.series[i].fault != "" {
			continue
		}
		x, ok := s.newcomer(w, i)
		if !ok {
			continue
		}
		id := Identify(x.labels)
		if j, ok := byPath[id.Path]; ok { // the same labels in another order
			news[j].of = append(news[j].of, i)
			continue
		}
		byPath[id.Path] = len(news)
		news = append(news, x)
		reqs = append(reqs, receivers.Request{Identity: id, Sender: sender, Time: w.begins(i), Untyped: true, Define: s.define(x)})
	}
	if len(news) == 0 {
		return
	}
	why := receivers.Overload
	ok := !s.pause.Lasts(now)
	if ok {
		if err := receivers.Resolve(ctx, s.sink, reqs); err != nil {
			why, ok = receivers.FailureReason(err), false
			s.pause.Begin(s.cfg.Now())
			s.cfg.Logger.Error("remotewrite: series not made", "series", len(reqs), "err", err)
		}
	}
	for i, x := range news {
		if !ok {
			s.later(w, x, why)
			continue
		}
		s.resolved(w, x, &reqs[i], now)
	}
	s.Series.Store(int64(s.table.length()))
}

// newcomer returns series i of w as one that is to be resolved. ok is false if its labels are
// wrong, which is remembered, or if there is nothing to make a series for.
func (s *server) newcomer(w *work, i int) (x *newcomer, ok bool) {
	key := w.series[i].key
	if len(key) > maxKey {
		w.series[i].fault = "the labels are too long"
		return nil, false
	}
	labels, wrong := w.checked(key)
	if wrong != "" {
		s.refuse(w, []int{i}, refusal{receivers.Malformed, wrong, 1 << 60})
		return nil, false
	}
	if !w.living(i) {
		return nil, false
	}
	name := valueOf(labels, NameLabel)
	k := w.series[i].kind
	if k == kindUnknown {
		k = s.families.kind(name)
	}
	return &newcomer{of: []int{i}, labels: labels, job: valueOf(labels, "job"), counts: k.counts(name), step: w.distance(i)}, true
}

// living reports whether series i of w has a sample that is not the mark of its end. A series that
// has ended and is not known is not made.
func (w *work) living(i int) bool {
	for _, x := range w.samples[w.series[i].from:w.series[i].to] {
		if x.bits != staleBits {
			return true
		}
	}
	return false
}

// staleBits is the value that marks the end of a series, a NaN of its own.
const staleBits = 0x7ff0000000000002

// distance returns the time between the first two samples of series i in whole seconds; 0: it has
// fewer.
func (w *work) distance(i int) int64 {
	x := w.samples[w.series[i].from:w.series[i].to]
	if len(x) < 2 {
		return 0
	}
	return apart(x[1].ms - x[0].ms)
}

// apart returns milliseconds between samples as a step in seconds; 0: it is none.
func apart(ms int64) int64 {
	if ms <= 0 {
		return 0
	}
	return min(max(1, (ms+500)/1000), mostStep)
}

// begins returns the time of the first sample of series i, or that at which its counter began a
// moment before.
func (w *work) begins(i int) rra.Time {
	x := &w.series[i]
	first := w.samples[x.from]
	at := max(milli(first.ms), 2e6)
	created := milli(x.created)
	if first.start != 0 {
		created = milli(first.start)
	}
	if created > at-rra.Time(recent.Microseconds()) && created < at && created > 2e6 {
		return created
	}
	return at
}

// define returns the function that defines the series of x. Its step is that of the flag, or what
// was learned of its job, or the distance of its first samples, or a guess.
func (s *server) define(x *newcomer) func(step int64) *rra.Definition {
	return func(step int64) *rra.Definition {
		if step == 0 {
			x.made = true
			for _, step = range []int64{s.set.step, s.table.learned[x.job], x.step} {
				if step != 0 {
					break
				}
			}
			if step == 0 {
				step, x.guess = guessedStep, true
			}
			x.step = step
		}
		return definition(step, x.counts)
	}
}

// later notes that the series of x could not be asked for, and that the request is to be sent
// again.
func (s *server) later(w *work, x *newcomer, why receivers.Reason) {
	for _, i := range x.of {
		n := int(w.series[i].to - w.series[i].from)
		w.entry[i] = none
		w.retry(n, "new series cannot be made now")
		w.dropped[why] += n
	}
}

// resolved enters the outcome of a request into the table.
func (s *server) resolved(w *work, x *newcomer, r *receivers.Request, now time.Time) {
	err := r.Err
	var source rra.DataSource
	if err == nil {
		var ok bool
		if source, ok = receivers.OnlySource(r.Definition); !ok {
			err = errSources
		}
	}
	if err != nil {
		why, retry := receivers.Absence(err)
		s.refuse(w, x.of, refusal{why, err.Error(), now.Add(retry).Unix()})
		return
	}
	t := s.table
	number, ok := t.byRef[r.Ref]
	if !ok {
		number = s.admit(w.entry[x.of[0]], x, r, source)
		w.fresh = append(w.fresh, fresh{number, x.of[0]})
	}
	if t.learned[x.job] == 0 && len(t.learned) < maxJobs && !x.guess {
		t.learned[x.job] = r.Definition.Step
	}
	s.enterKeys(w, x.of, number)
}

// admit enters a series into the table and returns its number. was is its number if it was refused
// before, else none.
func (s *server) admit(was uint32, x *newcomer, r *receivers.Request, source rra.DataSource) uint32 {
	t, number := s.table, was
	if number == none {
		number = t.append(series{})
	}
	delete(t.refused, number)
	e := &t.series[number]
	*e = series{ref: r.Ref, step: int32(r.Definition.Step), kind: source.Kind}
	if source.Kind == rra.DDerive && source.Min >= 0 {
		e.state |= zeroes
	}
	if x.made && x.guess {
		e.state |= guess
		t.guessed++
	}
	t.byRef[r.Ref] = number
	name := valueOf(x.labels, NameLabel)
	t.byName[name] = append(t.byName[name], number)
	return number
}

// maxJobs is how many jobs have a step that is remembered.
const maxJobs = 1 << 16

var errSources = errors.New("the series has more than one value")

// refuse remembers why the series at the indices of of are not there.
func (s *server) refuse(w *work, of []int, r refusal) {
	number := w.entry[of[0]]
	if number == none {
		number = s.table.append(series{})
	}
	s.table.refused[number] = r
	s.enterKeys(w, of, number)
}

// enterKeys makes the keys at the indices of of keys of a series.
func (s *server) enterKeys(w *work, of []int, number uint32) {
	for _, i := range of {
		switch was := w.entry[i]; {
		case was == none && s.table.look(w.series[i].key) == none:
			s.table.add(w.series[i].key, number)
		case was != none && was != number: // it was refused before
			s.table.move(was, number)
		}
		w.entry[i] = number
	}
}

// append adds a series and returns its number.
func (t *table) append(x series) uint32 {
	t.series = append(t.series, x)
	return uint32(len(t.series) - 1)
}

// move gives the keys of one series to another.
func (t *table) move(from, to uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.keys {
		if t.keys[i].series == from {
			t.keys[i].series = to
		}
	}
	delete(t.refused, from)
}
