package otlp

import (
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// newcomers are values that have no series yet. Their series are resolved together.
type newcomers struct {
	values     []newcomer
	generation uint64 // of the intake's series when the first of them came
	reqs       []receivers.Request
	keys       []key          // of reqs
	texts      [][]core.Label // of reqs: what their metrics say of themselves
	byKey      map[key]int    // index of the request
}

// A newcomer is a value without a series.
type newcomer struct {
	request int
	reading reading
}

// full reports whether newcomers must be resolved before more are added.
func (n *newcomers) full() bool { return len(n.values) >= receivers.MaxNewcomers }

func (n *newcomers) reset() {
	n.values = n.values[:0]
	clear(n.reqs)
	clear(n.texts)
	n.reqs, n.keys, n.texts = n.reqs[:0], n.keys[:0], n.texts[:0]
	clear(n.byKey)
}

// A reading is a value on its way to its series.
type reading struct {
	mode      mode
	at, start rra.Time
	value     float64 // NaN: unknown
}
