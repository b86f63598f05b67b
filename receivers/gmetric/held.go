package gmetric

import (
	"bytes"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
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

// A reading is a value as it arrived: a number, or a text if number is unknown.
type reading struct {
	word   Word
	number rra.Value
	text   []byte
	at     rra.Time
}

// textual reports whether the value was sent as a text.
func (r *reading) textual() bool { return r.number.Tag == rra.TagUnknown }

// clone returns a copy that shares no memory with r.
func (r *reading) clone() reading {
	c := *r
	c.text = bytes.Clone(r.text)
	return c
}
