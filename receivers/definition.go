package receivers

import (
	"math"
	"sync/atomic"

	"github.com/rondo-db/rondo/rra"
)

// The archives of collectd's rrdtool plugin: AVERAGE, MIN and MAX for each of the spans, which are
// in seconds.
const (
	standardRows = 1200
	standardXFF  = 0.1
)

var standardSpans = [...]int64{3600, 86400, 604800, 2678400, 31622400}

// StandardArchives returns the archives that collectd's rrdtool plugin makes for a step in seconds:
// AVERAGE, MIN and MAX of 1200 rows or more for each of an hour, a day, a week, a month and a year.
// Series of protocols that prescribe no archives get them too.
func StandardArchives(step int64) []rra.Archive {
	as := make([]rra.Archive, 0, 3*len(standardSpans))
	for i, span := range standardSpans {
		span = max(span, standardRows*step)
		pdps := int64(1)
		if i > 0 {
			pdps = span / (standardRows * step)
		}
		rows := (span + pdps*step - 1) / (pdps * step)
		for _, cf := range [...]rra.CF{rra.Average, rra.Min, rra.Max} {
			as = append(as, rra.Archive{CF: cf, XFF: standardXFF, PDPs: pdps, Rows: rows})
		}
	}
	return as
}

// StandardDefinition returns the definition of one GAUGE named "value", with a heartbeat of two
// steps and StandardArchives. step is in seconds; 0: collectd's 10.
func StandardDefinition(step int64) *rra.Definition {
	if step <= 0 {
		step = 10
	}
	return &rra.Definition{
		Step:     step,
		Sources:  []rra.DataSource{{Name: "value", Kind: rra.Gauge, Heartbeat: 2 * step, Min: math.NaN(), Max: math.NaN()}},
		Archives: StandardArchives(step),
	}
}

// LearnedDefinition is StandardDefinition for a step that is a guess, or was learned from samples.
// Senders whose step nobody has said are seldom on time: the heartbeat is LearnedHeartbeat.
func LearnedDefinition(step int64) *rra.Definition {
	d := StandardDefinition(step)
	d.Sources[0].Heartbeat = LearnedHeartbeat(d.Step)
	return d
}

// LearnedHeartbeat returns the heartbeat for a step that was learned: four steps, and at least a
// minute. Both are in seconds.
func LearnedHeartbeat(step int64) int64 { return max(4*step, 60) }

// ByStep returns define, which it calls only if the step is another one than in the call before. So
// new series share a definition: do not change it.
func ByStep(define func(step int64) *rra.Definition) func(step int64) *rra.Definition {
	type made struct {
		step int64
		d    *rra.Definition
	}
	var last atomic.Pointer[made]
	return func(step int64) *rra.Definition {
		x := last.Load()
		if x == nil || x.step != step {
			x = &made{step, define(step)}
			last.Store(x)
		}
		return x.d
	}
}

// OnlySource returns the one data source of d that takes values. A series may have any number of
// COMPUTE data sources beside it. ok is false if not exactly one data source takes values: then a
// receiver whose samples have one value cannot use the series.
func OnlySource(d *rra.Definition) (ds rra.DataSource, ok bool) {
	n := 0
	for i := range d.Sources {
		if d.Sources[i].Kind != rra.Compute {
			ds = d.Sources[i]
			n++
		}
	}
	return ds, n == 1
}
