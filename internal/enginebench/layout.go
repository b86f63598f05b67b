package enginebench

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A Layout says how the readings of a host are kept.
type Layout struct {
	// Archives of each series: 5 (10 s for an hour, 1 min for a day as average and maximum, 10 min
	// for a week, 1 h for a year), or 15 as collectd makes them.
	Archives int
	// Sources is the data sources of each series: 1, 2, 4 or 5. A host has 100 data sources.
	Sources int
}

func (l Layout) validate() error {
	if l.Archives != 5 && l.Archives != 15 {
		return fmt.Errorf("bench: %d archives, must be 5 or 15", l.Archives)
	}
	if !slices.Contains([]int{1, 2, 4, 5}, l.Sources) {
		return fmt.Errorf("bench: %d data sources, must be 1, 2, 4 or 5", l.Sources)
	}
	return nil
}

// HostSeries returns the number of series of one host.
func (l Layout) HostSeries() int { return HostReadings / l.Sources }

// HostSeries returns the number of series of one host.
func (g *Generator) HostSeries() int { return g.layout.HostSeries() }

// Sources returns the number of data sources of a series.
func (g *Generator) Sources() int { return g.layout.Sources }

// Spec returns what series i of host h is created from.
func (g *Generator) Spec(h, i int) core.Spec { return g.spec(h, i, g.Start(h)) }

func (g *Generator) spec(h, i int, start rra.Time) core.Spec {
	shape := shapeNames[shapes[i*g.layout.Sources%blockSeries]]
	hostName := fmt.Sprintf("host%06d", h)
	instance := fmt.Sprintf("%s-%02d", shape, i)
	return core.Spec{
		Path:       "bench/" + hostName + "/" + instance,
		Labels:     []core.Label{{Name: "__name__", Value: "bench_" + shape}, {Name: "host", Value: hostName}, {Name: "instance", Value: instance}},
		Definition: g.definitions[i%len(g.definitions)],
		Start:      start,
	}
}

// definitions returns the definitions of the series of a block. Equal definitions are one.
func (l Layout) definitions() []*rra.Definition {
	known := make(map[string]*rra.Definition)
	var out []*rra.Definition
	for block := range slices.Chunk(shapes[:], l.Sources) {
		d := &rra.Definition{Step: step, Archives: l.archives()}
		var kinds strings.Builder
		for i, shape := range block {
			kind := rra.Gauge
			if shape == busyCounter || shape == idleCounter {
				kind = rra.Counter
			}
			name := "value"
			if l.Sources > 1 {
				name = fmt.Sprintf("value%d", i)
			}
			kinds.WriteString(kind.String() + " ")
			d.Sources = append(d.Sources, rra.DataSource{Name: name, Kind: kind, Heartbeat: 2 * step, Min: math.NaN(), Max: math.NaN()})
		}
		if known[kinds.String()] == nil {
			known[kinds.String()] = d
		}
		out = append(out, known[kinds.String()])
	}
	return out
}

func (l Layout) archives() []rra.Archive {
	archive := func(cf rra.CF, xff float64, pdps, rows int64) rra.Archive {
		return rra.Archive{CF: cf, XFF: xff, PDPs: pdps, Rows: rows, Partner: -1}
	}
	if l.Archives == 15 {
		var out []rra.Archive
		for _, a := range [][2]int64{{1, 1200}, {7, 1235}, {50, 1210}, {223, 1202}, {2635, 1201}} {
			for _, cf := range []rra.CF{rra.Average, rra.Min, rra.Max} {
				out = append(out, archive(cf, 0.1, a[0], a[1]))
			}
		}
		return out
	}
	return []rra.Archive{
		archive(rra.Average, 0.5, 1, 360),
		archive(rra.Average, 0.5, 6, 1440),
		archive(rra.Max, 0.5, 6, 1440),
		archive(rra.Average, 0.5, 60, 1008),
		archive(rra.Average, 0.5, 360, 8760),
	}
}
