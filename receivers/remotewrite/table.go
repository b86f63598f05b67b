package remotewrite

import (
	"bytes"
	"hash/maphash"
	"math"
	"slices"
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
	seed maphash.Seed
	most int    // keys
	use  uint32 // bits of a hash that are used; tests use fewer, so that hashes collide

	mu    sync.RWMutex // guards what follows; taken after server.order
	epoch uint64       // changes when all keys are forgotten
	slots []uint32     // by hash: 1 + the number of a key; 0: free. Its length is a power of two
	keys  []tableKey
	texts successor.Keys

	series  []series // by number
	byRef   map[core.Ref]uint32
	byName  map[string][]uint32 // by the name of the metric
	refused map[uint32]refusal  // by number of the series
}

type tableKey struct {
	hash, place, length, series uint32
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
	t := &table{seed: maphash.MakeSeed(), most: most, use: ^uint32(0)}
	t.forget()
	return t
}

// forget forgets all keys and series.
func (t *table) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.epoch++
	clear(t.slots)
	t.keys, t.series = t.keys[:0], t.series[:0]
	t.texts.Clear()
	t.byRef = make(map[core.Ref]uint32)
	t.byName = make(map[string][]uint32)
	t.refused = make(map[uint32]refusal)
}

// find sets w.entry to the series of the keys of w, and w.epoch. It reports whether all are known.
func (t *table) find(w *work) (all bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	w.epoch, w.entry, all = t.epoch, w.entry[:0], true
	next := 0 // the key that was entered behind the one before: senders keep their order
	for i := range w.series {
		if w.series[i].fault != "" {
			w.entry = append(w.entry, none)
			continue
		}
		key := w.key(&w.series[i])
		if next >= len(t.keys) || !t.is(&t.keys[next], key) {
			if next = t.place(key); next < 0 {
				w.entry, all, next = append(w.entry, none), false, 0
				continue
			}
		}
		w.entry = append(w.entry, t.keys[next].series)
		next++
	}
	return all
}

func (t *table) is(k *tableKey, key []byte) bool {
	return int(k.length) == len(key) && bytes.Equal(t.texts.At(k.place)[:len(key)], key)
}

func (t *table) hash(key []byte) uint32 { return uint32(maphash.Bytes(t.seed, key)) & t.use }

// look returns the series of a key; none: the key is not known.
func (t *table) look(key []byte) uint32 {
	if i := t.place(key); i >= 0 {
		return t.keys[i].series
	}
	return none
}

// place returns the number of a key; -1: it is not known.
func (t *table) place(key []byte) int { return t.placeOf(key, t.hash(key)) }

func (t *table) placeOf(key []byte, h uint32) int {
	if len(t.slots) == 0 {
		return -1
	}
	mask := uint32(len(t.slots) - 1)
	for i := h & mask; t.slots[i] != 0; i = (i + 1) & mask {
		if k := &t.keys[t.slots[i]-1]; k.hash == h && t.is(k, key) {
			return int(t.slots[i] - 1)
		}
	}
	return -1
}

// full reports whether so many keys are remembered that all must be forgotten.
func (t *table) full() bool {
	return len(t.keys) >= t.most || t.texts.Chunks() >= maxChunks
}

// add makes key a key of a series, unless it is the key of one.
func (t *table) add(key []byte, number uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hash(key)
	if t.placeOf(key, h) >= 0 {
		return
	}
	if 2*len(t.keys) >= len(t.slots) {
		t.slots = make([]uint32, max(1024, 2*len(t.slots)))
		for i := range t.keys {
			t.insert(t.keys[i].hash, uint32(i)+1)
		}
	}
	if len(t.keys) == cap(t.keys) { // append would copy long lists more often
		t.keys = slices.Grow(t.keys, max(1024, len(t.keys)))
	}
	t.keys = append(t.keys, tableKey{hash: h, place: t.texts.Add(key, nil), length: uint32(len(key)), series: number})
	t.insert(h, uint32(len(t.keys)))
	t.series[number].key = uint32(len(t.keys) - 1)
}

// keyOf returns a key of a series.
func (t *table) keyOf(number uint32) []byte {
	k := &t.keys[t.series[number].key]
	return t.texts.At(k.place)[:k.length]
}

func (t *table) insert(h, slot uint32) {
	mask := uint32(len(t.slots) - 1)
	i := h & mask
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = slot
}
