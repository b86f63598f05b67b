package prom_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/prom"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// flaky is an engine whose series cannot be asked for, as a router while a partition is out of reach.
type flaky struct {
	core.Engine
	away bool
}

func (f *flaky) Resolve(ctx context.Context, refs []core.Ref, fn func(i int, x core.Series) bool) error {
	if f.away && len(refs) == 1 {
		return fmt.Errorf("partition 3: %w", core.ErrUnavailable)
	}
	return f.Engine.Resolve(ctx, refs, fn)
}

func (f *flaky) named(t *testing.T, path, name string) {
	t.Helper()
	_, err := core.Create(t.Context(), f, core.Spec{
		Path: path, Labels: []core.Label{{Name: "__name__", Value: name}},
		Definition: receivers.StandardDefinition(10), Start: rra.Seconds(1_600_000_000),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// count returns how many series have a name.
func count(t *testing.T, s *prom.Storage, name string) (n int, err error) {
	t.Helper()
	q, err := s.Querier(0, 2_000_000_000_000)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = q.Close() }()
	hints := &storage.SelectHints{Start: 0, End: 2_000_000_000_000, Func: "series"}
	set := q.Select(t.Context(), true, hints, labels.MustNewMatcher(labels.MatchEqual, "__name__", name))
	for set.Next() {
		n++
	}
	return n, set.Err()
}

// TestNewNameOfAPartitionOutOfReach: a query took the change of the catalogue from its watch while
// the new series could not be asked for, and took the error for a series that was dropped. The name
// was in no answer any more, and nothing said so.
func TestNewNameOfAPartitionOutOfReach(t *testing.T) {
	f := &flaky{Engine: enginetest.Open(t)}
	s := prom.New(f, nil)
	f.named(t, "a", "first")
	if n, err := count(t, s, "first"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	f.named(t, "b", "second")
	f.away = true
	if n, err := count(t, s, "second"); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("out of reach: %d series, error %v; want ErrUnavailable", n, err)
	}
	f.away = false
	if n, err := count(t, s, "second"); n != 1 || err != nil {
		t.Errorf("within reach again: %d series, error %v; want 1", n, err)
	}
	f.named(t, "c", "third")
	if err := core.Drop(context.Background(), f, "c"); err != nil {
		t.Fatal(err)
	}
	if n, err := count(t, s, "third"); n != 0 || err != nil {
		t.Errorf("a series that was dropped at once: %d, %v", n, err)
	}
}
