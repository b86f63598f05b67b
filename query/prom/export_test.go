package prom

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"
)

// Everything returns the labels of all metrics, by a walk over all series.
func Everything(s *Storage) (all []labels.Labels) {
	for x, err := range s.store.All(context.Background()) {
		if err != nil {
			panic(err)
		}
		for _, m := range s.entryOf(&x).metrics {
			all = append(all, m.labels)
		}
	}
	return all
}
