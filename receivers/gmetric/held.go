package gmetric

import (
	"slices"
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

// held holds the newest value of each metric whose metadata has not come.
type held struct {
	byEntry map[uint32]*heldValue // by the number of the cache's entry
	order   []heldSince           // oldest first; values that are no longer held may be in it
}

// A heldValue is a value that waits for its metadata.
type heldValue struct {
	reading
	sender string
	since  time.Time // when the first value of the metric came
}

// A heldSince names a value in held.order.
type heldSince struct {
	entry uint32
	since time.Time
	ticks int // since then, up to heldTicks
}

func (h *held) init() { *h = held{byEntry: make(map[uint32]*heldValue)} }

func (h *held) len() int { return len(h.byEntry) }

// hold keeps r until the metadata of entry i has come, in place of an earlier value of the entry.
// It returns how many values are lost by that, and why.
func (h *held) hold(i uint32, r *reading, sender string, now time.Time) (lost uint64, why receivers.Reason) {
	v := h.byEntry[i]
	switch {
	case v != nil:
		v.text = append(v.text[:0], r.text...)
		v.word, v.number, v.at, v.sender = r.word, r.number, r.at, sender
		return 1, receivers.State // the one before
	case h.len() >= maxHeld:
		return 1, receivers.Limit
	}
	h.put(i, &heldValue{reading: r.clone(), sender: sender, since: now})
	return 0, 0
}

// remove returns the value that is held for entry i, and holds it no longer; nil: none is held.
func (h *held) remove(i uint32) *heldValue {
	v := h.byEntry[i]
	delete(h.byEntry, i)
	return v
}

// put adds v. No value that is held is younger than v.
func (h *held) put(i uint32, v *heldValue) {
	h.byEntry[i] = v
	h.order = append(h.order, heldSince{entry: i, since: v.since})
	if len(h.order) > 2*maxHeld { // most are of values that are no longer held
		h.order = slices.DeleteFunc(h.order, func(o heldSince) bool { return h.of(o) == nil })
	}
}

// of returns the value that o names; nil: it is no longer held.
func (h *held) of(o heldSince) *heldValue {
	if v := h.byEntry[o.entry]; v != nil && v.since == o.since {
		return v
	}
	return nil
}
