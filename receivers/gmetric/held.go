package gmetric

import (
	"time"

	"github.com/rondo-db/rondo/receivers"
)

const (
	maxHeld = 10_000           // metrics with a held value
	holdFor = 30 * time.Second // how long a value is held for its metadata to come
	// heldTicks is after how many ticks the store is asked again: the metadata may have come to
	// another node of a cluster, which stores it within a tick.
	heldTicks = 2
)

// held holds the newest value of each metric whose metadata has not come, by the number of the
// cache's entry.
type held map[uint32]*heldValue

// A heldValue is a value that waits for its metadata.
type heldValue struct {
	reading
	sender string
	since  time.Time // when the first value of the metric came
	ticks  int       // since then
}

// hold keeps r until the metadata of entry i has come, in place of an earlier value of the entry.
// It counts the value that is lost by that.
func (s *server) hold(i uint32, r *reading, sender string) {
	v := s.held[i]
	switch {
	case v != nil:
		v.text = append(v.text[:0], r.text...)
		v.word, v.number, v.at, v.sender = r.word, r.number, r.at, sender
		s.Drop(receivers.State, 1) // the one before
	case len(s.held) >= maxHeld:
		s.Drop(receivers.Limit, 1)
	default:
		s.held[i] = &heldValue{reading: r.clone(), sender: sender, since: s.now}
	}
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

// look takes the metadata that the store has by now of entry i, if it has some.
func (s *server) look(e *entry, i uint32) {
	if e.is(gone) {
		return
	}
	if stored, err := s.stored(i); err == nil {
		s.answer(e, i, &stored)
	}
}
