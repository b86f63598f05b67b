package spread_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/rondo-db/rondo/cluster/spread"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/partial"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// growing is an engine that gets another series whenever its open rows are read, as each read of
// rows begins.
type growing struct {
	core.Engine
	t *testing.T
	n int
}

func (g *growing) FetchMany(ctx context.Context, spans []core.Span, fn func(i int, r *core.Rows, err error)) error {
	err := g.Engine.FetchMany(ctx, spans, fn)
	if spans[0].Archive == core.OpenRow {
		g.grow()
	}
	return err
}

func (g *growing) grow() {
	g.n++
	ref, err := core.Create(g.t.Context(), g, core.Spec{
		Path: fmt.Sprint("m", g.n), Labels: []core.Label{{Name: "__name__", Value: "m"}, {Name: "n", Value: fmt.Sprint(g.n)}},
		Definition: receivers.StandardDefinition(10), Start: rra.Seconds(base),
	})
	if err != nil {
		g.t.Fatal(err)
	}
	var b core.Batch
	for i := range int64(3) {
		b.Add(ref, rra.Seconds(base+10*(i+1)), rra.Float(10))
	}
	if err := core.Append(g.t.Context(), g, &b); err != nil {
		g.t.Fatal(err)
	}
}

// TestAverageIsOfTheSameSamples: a partition evaluated the sum and the count of an average one after
// the other. What came in between made an average of neither.
func TestAverageIsOfTheSameSamples(t *testing.T) {
	g := &growing{Engine: enginetest.Open(t), t: t}
	g.grow()
	v := spread.NewEvaluator(newEngine(t), nil, 1)
	q := counting()
	q.End = (base + 30) * 1000
	for range 3 {
		q.Expressions = []string{"sum(m)", "count(m)"}
		a, err := v.Evaluate(t.Context(), 0, g, q)
		if err != nil || len(a.Series) != 2 {
			t.Fatalf("%v, %v", a, err)
		}
		if sum, n := value(a, 0), value(a, 1); sum != 10*n {
			t.Errorf("the sum is %v of %v series of 10 each", sum, n)
		}
	}
	if g.n != 4 {
		t.Errorf("the rows were read %d times for three averages", g.n-1)
	}
}

func value(a *partial.Answer, expression int) float64 {
	for _, s := range a.Series {
		if s.Expression == expression {
			return s.Values[0]
		}
	}
	return -1
}

// held is an engine whose rows are not read until a channel is closed.
type held struct {
	core.Engine
	inside, gate chan struct{}
}

func (h *held) FetchMany(ctx context.Context, spans []core.Span, fn func(i int, r *core.Rows, err error)) error {
	if spans[0].Archive == core.OpenRow { // the first read
		h.inside <- struct{}{}
		<-h.gate
	}
	return h.Engine.FetchMany(ctx, spans, fn)
}

// TestRulesHavePlacesInPartitions: the questions of rules waited behind the clients', and other
// nodes may send many of these.
func TestRulesHavePlacesInPartitions(t *testing.T) {
	g := &growing{Engine: enginetest.Open(t), t: t}
	g.grow()
	slow := &held{g.Engine, make(chan struct{}, 1), make(chan struct{})}
	v := spread.NewEvaluator(newEngine(t), nil, 1)
	q := counting()
	q.End = (base + 30) * 1000
	done := make(chan error)
	go func() {
		_, err := v.Evaluate(t.Context(), 0, slow, q)
		done <- err
	}()
	<-slow.inside
	q.ForRule = true
	if a, err := v.Evaluate(t.Context(), 1, g, q); err != nil || value(a, 0) != 1 {
		t.Errorf("a rule: %v, %v", a, err)
	}
	close(slow.gate)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestQuestionsOfRulesAreMarked: the other node gets to know who asks.
func TestQuestionsOfRulesAreMarked(t *testing.T) {
	for _, rules := range []bool{false, true} {
		c := newCluster(t, 2, nil)
		var got []bool
		c.heard = func(q partial.Question) { got = append(got, q.ForRule) }
		c.asker.ForRules = rules
		at := time.Unix(base, 0)
		query, err := c.asker.NewQuery(t.Context(), promql.NewPrometheusQueryOpts(false, 0), "sum(m)", at, at, 0)
		if err != nil {
			t.Fatal(err)
		}
		out := query.Exec(t.Context())
		query.Close()
		if out.Err != nil || len(got) != 1 || got[0] != rules {
			t.Errorf("rules %v: the other node heard %v, %v", rules, got, out.Err)
		}
	}
}
