package prom

import (
	"context"

	"github.com/rondo-db/rondo/engine/core"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/rondo-db/rondo/internal/access"
)

// Limited gives a storage other limits of what a selector finds and reads.
func Limited(s *Storage, series int, rows int64) { s.maxSeries, s.maxRows = series, rows }

// Everything returns the labels of all metrics that a user reaches, by a walk over all series.
// shown are those with which answers have them. Without rates, stored rates that a selector must
// ask for are left out.
func Everything(s *Storage, u *access.User, rates bool) (all, shown []labels.Labels) {
	var fs []found
	for x, err := range s.store.Select(context.Background(), core.Query{}) {
		if err != nil {
			panic(err)
		}
		if !u.Reaches(x.Path) {
			continue
		}
		e := s.entryOf(&x)
		for i := range e.metrics {
			if rates || !e.metrics[i].unsent {
				fs = append(fs, found{x.Ref, e, &e.metrics[i]})
				all = append(all, e.metrics[i].labels)
			}
		}
	}
	others := apart(fs)
	for i := range fs {
		shown = append(shown, labelsAt(fs, others, i))
	}
	return all, shown
}
