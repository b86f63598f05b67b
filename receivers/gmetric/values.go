package gmetric

import (
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

func (s *server) read(e *entry, i uint32, m *Message) {
	r := reading{word: m.Word, number: m.Number, text: m.Text, at: s.at}
	s.take(e, i, &r, s.sender.host())
}

// take takes a value: as a heartbeat, a text or a sample if its metadata is known.
func (s *server) take(e *entry, i uint32, r *reading, sender []byte) {
	switch {
	case !e.is(asked):
		s.Drop(e.Why, 1)
	case e.is(beats):
		s.beat(e, i, sender)
	case !e.is(known):
		s.hold(i, r, string(sender))
	case e.words(r):
		s.text(e, i, r, sender)
	case e.Ref != 0:
		s.add(e, i, r)
	case s.second < e.Retry:
		s.Drop(e.Why, 1)
	default:
		s.newcomer(e, i, r, sender)
	}
}

// words reports whether r is to be stored as a text.
func (e *entry) words(r *reading) bool {
	switch {
	case e.typ == String:
		return true
	case e.typ != Unknown || !r.textual():
		return false
	}
	_, ok := parse(r.text)
	return !ok
}

// add hands r over as a sample.
func (s *server) add(e *entry, i uint32, r *reading) {
	v, err := r.value(e.Kind)
	if err != nil {
		s.badValue(i, r, err)
		return
	}
	s.sample[0] = v
	s.queue.Add(e.Ref, r.at, s.sample[:])
}

// value returns r for a data source of kind k.
func (r *reading) value(k rra.Kind) (rra.Value, error) {
	if r.textual() {
		return ParseValue(k, r.text)
	}
	return convert(k, r.number)
}

// badValue counts and logs a value that the series of entry i does not take.
func (s *server) badValue(i uint32, r *reading, err error) {
	s.Drop(receivers.ReasonOf(err), 1)
	host, name := s.cache.Key(i)
	if ok, held := s.lines.Allow(string(host), s.now); ok {
		s.cfg.Logger.Warn("gmetric: bad value", "host", label(host), "metric", label(name), "value", label(r.text[:min(len(r.text), 64)]),
			"err", err, "held_back_lines", held)
	}
}

// describe takes the metadata in m.
func (s *server) describe(e *entry, i uint32, m *Message) {
	sum := m.sum(s.cache.seed)
	if e.meta == sum && e.is(known) {
		return
	}
	md, left := metricOf(m)
	if left > 0 {
		s.Drop(receivers.Limit, uint64(left))
	}
	if s.same(e, i, &md) || s.setMetric(e, i, md, string(s.sender.host())) {
		e.meta = sum
	}
	s.unhold(i)
}

// unhold takes the value that is held for entry i, whose metadata has come.
func (s *server) unhold(i uint32) {
	if v := s.held[i]; v != nil {
		delete(s.held, i)
		s.take(s.cache.At(i), i, &v.reading, []byte(v.sender))
	}
}

// release takes values whose metadata the store has by now, or assumes metadata for them if they
// have been held for long enough.
func (s *server) release() {
	for i, v := range s.held {
		if s.news.Full() {
			return
		}
		v.ticks++
		long := s.now.Sub(v.since) >= holdFor
		if !long && v.ticks != heldTicks {
			continue
		}
		e := s.cache.At(i)
		if s.look(e, i); !e.is(known) && long && !s.setMetric(e, i, defaultMetric(v.word), v.sender) {
			v.since = s.now
		}
		if e.is(known) {
			s.unhold(i)
		}
	}
}
