package influx

import (
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// newcomers are values that have no series yet. Their series are resolved together: one wait for
// the store instead of one for each.
type newcomers struct {
	values     []newcomer
	since      time.Time // when the first of them came
	generation uint64    // of the cache whose entries they name
	reqs       []receivers.Request
	fields     []uint32       // of reqs: the numbers of the fields' entries
	byField    map[uint32]int // number of a field's entry → index of its request
}

// A newcomer is a value of a field without a series.
type newcomer struct {
	field   uint32 // number of the field's entry
	request int
	at      rra.Time
	value   rra.Value
	sender  string // address
}

// add adds a value of a field, whose number is of a generation of the cache.
func (n *newcomers) add(v newcomer, generation uint64, now time.Time) {
	if len(n.values) == 0 {
		n.generation, n.since = generation, now
	}
	n.values = append(n.values, v)
}

// full reports whether newcomers must be resolved before more are added.
func (n *newcomers) full() bool { return len(n.values) >= receivers.MaxNewcomers }

func (n *newcomers) reset() {
	n.values = n.values[:0]
	clear(n.reqs)
	n.reqs, n.fields = n.reqs[:0], n.fields[:0]
	clear(n.byField)
}
