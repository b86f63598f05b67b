package spread

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/query/partial"
	"github.com/rondo-db/rondo/query/prom"
	"github.com/rondo-db/rondo/query/prom/bound"
)

// An Evaluator evaluates expressions over the partitions of this node. Its methods may be called
// concurrently.
type Evaluator struct {
	engine *promql.Engine
	// Questions that are answered, of clients and of rules.
	places, rulePlaces *limit.Limit

	mu    sync.Mutex // guards what follows
	rules []prom.Rule
	hash  uint64 // of rules
	kept  map[int]kept
}

// A kept is what is remembered of a partition as long as it is open.
type kept struct {
	engine  core.Engine
	storage *prom.Storage
}

// NewEvaluator returns an evaluator with an engine like the asking nodes'. places is how many
// questions of clients are answered at the same time, and as many of rules. They never wait for
// others, so that nodes which ask each other do not wait for ever.
func NewEvaluator(engine *promql.Engine, rules []prom.Rule, places int) *Evaluator {
	most := int64(max(places, 1))
	return &Evaluator{
		engine: engine, rules: rules, hash: hashOf(rules), kept: make(map[int]kept),
		places: limit.New(most, most), rulePlaces: limit.New(most, most),
	}
}

// SetRules puts other rules for names in force.
func (v *Evaluator) SetRules(rules []prom.Rule) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rules, v.hash = rules, hashOf(rules)
	for _, k := range v.kept {
		k.storage.SetRules(rules)
	}
}

// hashOf returns a hash of rules: nodes with other rules give other names.
func hashOf(rules []prom.Rule) uint64 {
	h := fnv.New64a()
	for _, r := range rules {
		_, _ = fmt.Fprintf(h, "%q %q %q\n", r.Path, r.Name, r.Labels) // it does not fail
	}
	return h.Sum64()
}

// storage returns the storage of a partition.
func (v *Evaluator) storage(p int, e core.Engine, rules uint64) (*prom.Storage, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if rules != v.hash {
		return nil, fmt.Errorf("the rules for names of metrics differ between the nodes: %w", core.ErrInvalid)
	}
	k, ok := v.kept[p]
	if ok && k.engine == e {
		return k.storage, nil
	}
	for i, old := range v.kept { // partitions come and go together
		if i == p || closed(old.engine) {
			old.storage.End()
			delete(v.kept, i)
		}
	}
	k = kept{e, prom.New(e, v.rules)}
	v.kept[p] = k
	return k.storage, nil
}

// closed reports whether an engine was closed, because its partition has left this node.
func closed(e core.Engine) bool {
	_, err := core.SeriesOf(context.Background(), e, 0)
	return errors.Is(err, core.ErrClosed)
}

// Evaluate evaluates a question over partition p, whose engine is e. The error says why this node
// does not answer: the question is then to be answered without the partitions' help.
func (v *Evaluator) Evaluate(ctx context.Context, p int, e core.Engine, q partial.Question) (*partial.Answer, error) {
	if q.Steps() == 0 || len(q.Expressions) > maxTexts {
		return nil, fmt.Errorf("%d expressions at these times: %w", len(q.Expressions), core.ErrTooLarge)
	}
	for _, text := range q.Expressions {
		var b bound.Budget
		if err := b.Expression(text); err != nil {
			return nil, fmt.Errorf("%w: %w", err, core.ErrTooLarge)
		}
	}
	kept, err := v.storage(p, e, q.Rules)
	if err != nil {
		return nil, err
	}
	places := v.places
	if q.ForRule {
		places = v.rulePlaces
	}
	if !places.Wait(ctx, "", 1, limit.Forever) {
		return nil, ctx.Err()
	}
	defer places.Give("", 1)
	same := newOnce(kept)
	defer same.close()
	a := new(partial.Answer)
	for i := range q.Expressions {
		if err := v.one(ctx, same, &q, i, a); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// one evaluates one expression.
func (v *Evaluator) one(ctx context.Context, from storage.Queryable, q *partial.Question, i int, a *partial.Answer) error {
	opts := promql.NewPrometheusQueryOpts(false, time.Duration(q.Lookback)*time.Millisecond)
	text, end := q.Expressions[i], time.UnixMilli(q.End)
	var prepared promql.Query
	var err error
	if q.Step == 0 {
		prepared, err = v.engine.NewInstantQuery(ctx, from, opts, text, end)
	} else {
		prepared, err = v.engine.NewRangeQuery(ctx, from, opts, text, time.UnixMilli(q.Start), end, time.Duration(q.Step)*time.Millisecond)
	}
	if err != nil {
		return err
	}
	defer prepared.Close()
	out := prepared.Exec(ctx)
	if out.Err != nil {
		return causeOf(out.Err)
	}
	switch value := out.Value.(type) {
	case promql.Vector:
		for _, s := range value {
			if s.H != nil {
				return errHistogram
			}
			x := partial.Series{Expression: i, Labels: sentLabels(s.Metric), Known: make([]byte, 1)}
			x.Add(0, s.F)
			a.Series = append(a.Series, x)
		}
	case promql.Matrix:
		for _, s := range value {
			if len(s.Histograms) > 0 {
				return errHistogram
			}
			x := partial.Series{Expression: i, Labels: sentLabels(s.Metric), Known: make([]byte, (q.Steps()+7)/8)}
			for _, f := range s.Floats {
				x.Add(int((f.T-q.Start)/q.Step), f.F)
			}
			a.Series = append(a.Series, x)
		}
	default:
		return fmt.Errorf("a %s is no part of a sum: %w", out.Value.Type(), core.ErrInvalid)
	}
	if i > 0 {
		return nil // the first has said it
	}
	a.Warnings, a.Infos = out.Warnings.AsStrings(text, 0, 0)
	if len(a.Warnings)+len(a.Infos) > maxNotes {
		return fmt.Errorf("%d warnings: %w", len(a.Warnings)+len(a.Infos), core.ErrTooLarge)
	}
	return nil
}

const (
	maxTexts = 2   // expressions of a question
	maxNotes = 200 // warnings of an answer
)

var errHistogram = fmt.Errorf("histograms are not added up: %w", core.ErrInvalid)

// causeOf returns the storage's error in one of the engine.
func causeOf(err error) error {
	if s, ok := err.(promql.ErrStorage); ok {
		return s.Err
	}
	return err
}

func sentLabels(ls labels.Labels) (out []core.Label) {
	ls.Range(func(l labels.Label) { out = append(out, core.Label{Name: l.Name, Value: l.Value}) })
	return out
}
