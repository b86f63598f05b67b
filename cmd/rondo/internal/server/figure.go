package server

import (
	"github.com/rondo-db/rondo/rra"
)

// A figure is one number about the server itself. It is a metric, and a series below rondo/.
type figure struct {
	series string // the last part of the series' path; empty: not recorded
	metric string
	kind   rra.Kind // Gauge; Derive, a counter of integers; DDerive, one of doubles
	help   string
	value  float64
}
