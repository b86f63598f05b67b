package spread

import (
	"math"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/partial"
)

// A group is a series of a sum: what the partitions have sent of it so far.
type group struct {
	labels labels.Labels
	known  []bool
	values []accumulator // of each expression and step
}

// An accumulator adds up floats, and keeps what is lost on the way, as Neumaier (1974) does.
type accumulator struct{ sum, lost float64 }

func (a *accumulator) add(v float64) {
	t := a.sum + v
	switch {
	case math.IsInf(t, 0):
		a.lost = 0
	case math.Abs(a.sum) >= math.Abs(v):
		a.lost += a.sum - t + v
	default:
		a.lost += v - t + a.sum
	}
	a.sum = t
}

// take adds a value of a partition to the others'.
func (a *accumulator) take(op parser.ItemType, first bool, v float64) {
	switch {
	case first:
		*a = accumulator{sum: v}
	case op == parser.MIN:
		if a.sum > v || math.IsNaN(a.sum) {
			a.sum = v
		}
	case op == parser.MAX:
		if a.sum < v || math.IsNaN(a.sum) {
			a.sum = v
		}
	case op == parser.GROUP:
	default:
		a.add(v)
	}
}

// merge puts the answers of the partitions to one sum together, in their order. ok is false if the
// average of a group cannot be computed from its parts: their sum is larger than a float can be. A
// series has a sample at each step, which is stale where there is no value.
func merge(s *sum, q *partial.Question, answers []*partial.Answer) (all []storage.Series, ok bool) {
	steps, first := q.Steps(), q.Start
	if q.Step == 0 {
		first = q.End
	}
	groups := make(map[string]*group)
	for _, a := range answers {
		for i := range a.Series {
			x := &a.Series[i]
			key := keyOf(x.Labels)
			g := groups[key]
			if g == nil {
				g = &group{labels: labelsOf(x.Labels), known: make([]bool, steps*len(s.texts)), values: make([]accumulator, steps*len(s.texts))}
				groups[key] = g
			}
			n := 0
			for t := range steps {
				if x.Has(t) {
					at := x.Expression*steps + t
					g.values[at].take(s.op, !g.known[at], x.Values[n])
					g.known[at] = true
					n++
				}
			}
		}
	}
	var sums []promql.Series
	for _, g := range groups {
		x := promql.Series{Metric: g.labels, Floats: make([]promql.FPoint, steps)}
		for t := range steps {
			v := g.values[t].sum
			switch s.op {
			case parser.SUM:
				v += g.values[t].lost
			case parser.AVG:
				if math.IsInf(v, 0) {
					return nil, false
				}
				v = (v + g.values[t].lost) / g.values[steps+t].sum
			}
			if !g.known[t] {
				v = math.Float64frombits(value.StaleNaN)
			}
			x.Floats[t] = promql.FPoint{T: first + int64(t)*q.Step, F: v}
		}
		sums = append(sums, x)
	}
	slices.SortFunc(sums, func(a, b promql.Series) int { return labels.Compare(a.Metric, b.Metric) })
	for _, x := range sums {
		all = append(all, promql.NewStorageSeries(x))
	}
	return all, true
}

func keyOf(ls []core.Label) string {
	var b strings.Builder
	for _, l := range ls {
		b.WriteString(l.Name)
		b.WriteByte(0xff)
		b.WriteString(l.Value)
		b.WriteByte(0xff)
	}
	return b.String()
}

func labelsOf(ls []core.Label) labels.Labels {
	b := labels.NewScratchBuilder(len(ls))
	for _, l := range ls {
		b.Add(l.Name, l.Value)
	}
	b.Sort()
	return b.Labels()
}
