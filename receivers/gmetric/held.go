package gmetric

import (
	"context"
	"slices"
	"time"

	"github.com/rondo-db/rondo/receivers"
)

const (
	maxHeld = 10_000           // metrics
	holdFor = 30 * time.Second // then metadata is not waited for any more
)

// held is the newest value of each metric whose metadata has not come.
type held struct {
	byEntry map[uint32]*heldValue
	order   []heldSince // by since
}

type heldValue struct {
	reading
	sender string
	since  time.Time // when the first of them came
}

type heldSince struct {
	entry uint32
	since time.Time
}

func (h *held) init() { *h = held{byEntry: make(map[uint32]*heldValue)} }

func (h *held) len() int { return len(h.byEntry) }

// hold keeps r, in place of what was held of entry i.
func (s *server) hold(i uint32, r *reading, sender string) {
	v := s.held.byEntry[i]
	switch {
	case v != nil:
		s.Drop(receivers.State, 1) // the one before
		v.text = append(v.text[:0], r.text...)
		v.word, v.number, v.at, v.sender = r.word, r.number, r.at, sender
	case s.held.len() >= maxHeld:
		s.Drop(receivers.Limit, 1)
	default:
		s.held.put(i, &heldValue{reading: r.clone(), sender: sender, since: s.now})
	}
}

// put adds v, which is not older than any other.
func (h *held) put(i uint32, v *heldValue) {
	h.byEntry[i] = v
	h.order = append(h.order, heldSince{i, v.since})
	if len(h.order) > 2*maxHeld { // mostly of values whose metadata has come
		h.order = slices.DeleteFunc(h.order, func(o heldSince) bool { return h.of(o) == nil })
	}
}

// of returns the value that o stands for; nil: it is not held any more.
func (h *held) of(o heldSince) *heldValue {
	if v := h.byEntry[o.entry]; v != nil && v.since == o.since {
		return v
	}
	return nil
}

// unhold makes a newcomer of what is held of entry i, whose metadata has come.
func (s *server) unhold(i uint32) {
	v := s.held.byEntry[i]
	if v == nil {
		return
	}
	delete(s.held.byEntry, i)
	s.news.add(i, &v.reading, v.sender)
}

// release makes newcomers of what has been held for long enough, with metadata that is assumed. It
// reports whether there are any.
func (s *server) release(ctx context.Context) bool {
	n := 0
	for ; n < len(s.held.order); n++ {
		o := s.held.order[n]
		v := s.held.of(o)
		if v == nil {
			continue // its metadata has come
		}
		if s.now.Sub(o.since) < holdFor || s.news.full() {
			break
		}
		s.assume(ctx, o.entry, v)
		s.unhold(o.entry)
	}
	s.held.order = append(s.held.order[:0], s.held.order[n:]...)
	return len(s.news.values) > 0
}

// assume gives entry i the metadata that the store has by now, or else the default.
func (s *server) assume(ctx context.Context, i uint32, v *heldValue) {
	e := &s.cache.entries[i]
	if !e.is(gone) {
		host, name := s.cache.key(i)
		stored, err := s.sink.Metadata(ctx, path(host, name))
		if err == nil {
			s.answer(e, i, &stored)
		}
	}
	if !e.is(known) {
		s.setMetric(e, i, defaultMetric(v.word), v.sender)
	}
}
