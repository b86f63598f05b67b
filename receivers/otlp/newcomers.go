package otlp

import (
	"cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// newcomers are values that have no series yet. Their series are resolved together.
type newcomers struct {
	values     []newcomer
	generation uint64 // of the intake's series when the first of them came
	reqs       []receivers.Request
	asked      []*asked    // of reqs
	byKey      map[key]int // index of the request
}

// An asked is what is known of a series that is asked for.
type asked struct {
	key     key
	texts   []core.Label // what its metric says of itself
	job     string
	mode    mode
	first   rra.Time // its first value
	known   int64    // the step that the flag or its job has told; 0: none
	between int64    // the step that its first values tell; 0: none
	guessed bool     // it was made, and its step is a guess
}

// define returns the definition of the series. step is the step of the policy; 0: own.
func (a *asked) define(step int64) *rra.Definition {
	step = cmp.Or(step, a.known, a.between)
	a.guessed = step == 0
	return define(a.mode, step)
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
	clear(n.asked)
	n.reqs, n.asked = n.reqs[:0], n.asked[:0]
	clear(n.byKey)
}

// A reading is a value on its way to its series.
type reading struct {
	mode      mode
	at, start rra.Time
	value     float64 // NaN: unknown
}

// A second is a value that waits until the step of its series is settled.
type second struct {
	series  *series
	request receivers.Request
	reading reading
}
