package remotewrite

import (
	"math"
	"sync"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/successor"
	"github.com/rondo-db/rondo/rra"
)

const (
	maxKeys   = 1 << 21 // keys that are remembered; beyond it all are forgotten, and resolved again
	maxChunks = 512     // MiB of keys; likewise
	none      = ^uint32(0)
)

// A table finds the series of the labels of a request, by their bytes as they were sent, without
// making a path of them. Labels in another order are another key of the same series.
//
// Requests look up keys at the same time. Whoever holds server.order, and nobody else, adds keys,
// forgets them, and uses series.
type table struct {
	mu    sync.RWMutex            // guards what follows; taken after server.order
	epoch uint64                  // changes when all keys are forgotten
	keys  successor.Cache[uint32] // the numbers of their series

	series  []series // by number
	byRef   map[core.Ref]uint32
	byName  map[string][]uint32 // by the name of the metric
	refused map[uint32]refusal  // by number of the series
}

// A series is where the samples of one set of labels go, and what is remembered of the last one.
type series struct {
	ref    core.Ref // 0: no series, see table.refused
	last   sample
	offset int32 // of its times within the unit to which they are rounded, in milliseconds
	step   int32 // seconds
	state
	kind   rra.Kind
	flight uint16 // of the last request that has offered a sample: see flights
	key    uint32 // one of its keys: its number in table.keys
}

// A sample is the last one of a series, as it was handed to the store.
type sample struct {
	at    rra.Time
	value float64 // NaN: unknown
}

// same reports whether x has a value.
func (x sample) same(value float64) bool {
	return value == x.value || math.IsNaN(value) && math.IsNaN(x.value)
}

// The state of a series is a set of flags.
type state uint8

const (
	lastKnown   state = 1 << iota // last is the last sample in the store
	offsetKnown                   // offset is
	asSent                        // its times are not rounded: their offset is not constant
	zeroes                        // a fall is a reset: see package resets
	guess                         // its step is a guess, which its second sample may change
	offered                       // a sample of it was handed to the store
)

// A refusal says why a series is not there, and when it is asked for again.
type refusal struct {
	receivers.Series
	text string
}

func newTable(most int) *table {
	t := &table{keys: successor.NewCache[uint32](most, maxChunks)}
	t.forget()
	return t
}

// forget forgets all keys and series.
func (t *table) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.epoch++
	t.keys.Clear()
	t.series = t.series[:0]
	t.byRef = make(map[core.Ref]uint32)
	t.byName = make(map[string][]uint32)
	t.refused = make(map[uint32]refusal)
}

// find sets w.entry to the series of the keys of w, and w.epoch. It reports whether all are known.
func (t *table) find(w *work) (all bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	w.epoch, w.entry, all = t.epoch, w.entry[:0], true
	next := uint32(0) // the key that was entered behind the one before: senders keep their order
	for i := range w.series {
		if w.series[i].fault != "" {
			w.entry = append(w.entry, none)
			continue
		}
		key := w.key(&w.series[i])
		known := int(next) < t.keys.Len() && t.keys.Is(next, nil, key)
		if !known {
			next, known = t.keys.Lookup(nil, key)
		}
		if !known {
			w.entry, all, next = append(w.entry, none), false, 0
			continue
		}
		w.entry = append(w.entry, *t.keys.At(next))
		next++
	}
	return all
}

// look returns the series of a key; none: the key is not known.
func (t *table) look(key []byte) uint32 {
	if i, ok := t.keys.Lookup(nil, key); ok {
		return *t.keys.At(i)
	}
	return none
}

// add makes key a key of a series, unless it is the key of one.
func (t *table) add(key []byte, number uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.look(key) != none {
		return
	}
	i := t.keys.Add(nil, key)
	*t.keys.At(i), t.series[number].key = number, i
}

// keyOf returns a key of a series.
func (t *table) keyOf(number uint32) []byte {
	_, key := t.keys.Key(t.series[number].key)
	return key
}
