// Package partial has what a node of a cluster asks another one where it evaluates an expression of
// PromQL: the question, and the part of the answer that one partition has.
package partial

import "github.com/rondo-db/rondo/engine/core"

// MaxSteps is the largest number of times of a question.
const MaxSteps = 1 << 16

// A Question is expressions and the times at which they are evaluated over the series of one
// partition. Times are in milliseconds since 1970.
type Question struct {
	Expressions []string // each is an instant vector
	Start, End  int64
	Step        int64  // 0: they are evaluated at End only
	Lookback    int64  // how far an instant vector looks back, in milliseconds
	Rules       uint64 // a hash of the rules for names of metrics, which must be the same
	ForRule     bool   // an alerting or recording rule asks: these have places of their own
}

// Steps returns how many times there are; 0 if there are more than MaxSteps, or the question makes
// no sense.
func (q *Question) Steps() int {
	switch {
	case q.Step == 0:
		return 1
	case q.Step < 0 || q.End < q.Start || uint64(q.End)-uint64(q.Start) >= MaxSteps*uint64(q.Step):
		return 0
	}
	return int((q.End-q.Start)/q.Step) + 1
}

// A Series is a series of the result of an expression.
type Series struct {
	Expression int // its index
	Labels     []core.Label
	Known      []byte    // a bit for each step, the lowest first: there is a value
	Values     []float64 // one for each such bit
}

// Valid reports whether s may be a part of an answer to q: its values fit to its bits.
func (s *Series) Valid(q *Question) bool {
	steps, n := q.Steps(), 0
	if s.Expression < 0 || s.Expression >= len(q.Expressions) || len(s.Known) != (steps+7)/8 {
		return false
	}
	for i := range 8 * len(s.Known) {
		if s.Has(i) {
			if n++; i >= steps {
				return false
			}
		}
	}
	return n == len(s.Values)
}

// Has reports whether there is a value at step i, counted from 0.
func (s *Series) Has(i int) bool { return s.Known[i/8]&(1<<(i%8)) != 0 }

// Add adds a value at step i. Steps come in order.
func (s *Series) Add(i int, v float64) {
	s.Known[i/8] |= 1 << (i % 8)
	s.Values = append(s.Values, v)
}

// An Answer is the series of the results in one partition, and what is to be said about them, as
// Prometheus words it.
type Answer struct {
	Series          []Series
	Warnings, Infos []string
}
