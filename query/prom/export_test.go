package prom

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/rondo-db/rondo/internal/access"
)

// Everything returns the labels of all metrics that a user reaches, by a walk over all series.
func Everything(s *Storage, u *access.User) (all []labels.Labels) {
	for x, err := range s.store.All(context.Background()) {
		if err != nil {
			panic(err)
		}
		if !u.Reaches(x.Path) {
			continue
		}
		for _, m := range s.entryOf(&x).metrics {
			all = append(all, m.labels)
		}
	}
	return all
}
