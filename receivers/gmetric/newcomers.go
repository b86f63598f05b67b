package gmetric

import (
	"bytes"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// maxAsks is how many entries may wait for the store to be asked for their metadata.
const maxAsks = 1 << 16

// newcomers are values of metrics that have no series yet. They wait, in order, until the datagrams
// at hand are read. Then the store is asked for the metadata of all of them, and for the series of
// those whose metadata there is.
type newcomers struct {
	values []newcomer
	bytes  int       // of memory that values take, about
	begun  bool      // since is set
	since  time.Time // when the first of values came
	asks   []uint32  // entries whose metadata the store is to be asked for
	series receivers.Newcomers[uint32, newcomer]
	refs   int64 // entries of the cache that have a series
}

// A newcomer is a value of a metric without a series.
type newcomer struct {
	reading
	entry  uint32 // number of the cache's entry
	sender string
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

func (n *newcomers) add(i uint32, r *reading, sender string) {
	n.values = append(n.values, newcomer{reading: r.clone(), entry: i, sender: sender})
	n.bytes += len(r.text) + 128
}

func (n *newcomers) full() bool {
	return len(n.values) >= receivers.MaxNewcomers || n.bytes >= receivers.MaxNewcomerBytes
}

func (n *newcomers) reset() {
	clear(n.values)
	n.values, n.bytes, n.begun = n.values[:0], 0, false
}

// ask notes that the store is to be asked for the metadata of entry i.
func (n *newcomers) ask(i uint32) {
	if len(n.asks) < maxAsks {
		n.asks = append(n.asks, i)
	}
}
