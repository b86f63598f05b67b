package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/prom/alerts"
)

// TestFirstRowOfRecording: the first evaluation of a recording rule made no row, because the series
// began one second before it.
func TestFirstRowOfRecording(t *testing.T) {
	store := enginetest.Open(t)
	s := &server{Config: Config{DB: t.TempDir()}.withDefaults(), middleware: quietMiddleware(middleware.DefaultBounds(0)), store: store}
	s.receivers = newManager(s)
	const step = 60
	for i := range int64(3) {
		at := time.Unix(step*(20_000_000+i), 0)
		sample := alerts.Sample{Labels: labels.FromStrings("__name__", "a:b"), Value: float64(7 + i)}
		if err := s.recordRule(t.Context(), at, step*time.Second, []alerts.Sample{sample}); err != nil {
			t.Fatal(err)
		}
	}
	refs, err := core.Refs(t.Context(), store, []core.Matcher{{Name: "__name__", Value: "a:b"}})
	if err != nil || len(refs) != 1 {
		t.Fatal(refs, err)
	}
	rows, err := store.Fetch(t.Context(), refs[0], 0, step*19_999_998, step*20_000_002)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(rows.Values); got != "[NaN 7 8 9]" {
		t.Errorf("the rows are %s", got)
	}
}
