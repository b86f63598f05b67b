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
