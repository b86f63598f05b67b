package statsd

import (
	"math"
	"slices"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A metric is what has arrived of one metric since the last flush, and where it goes.
type metric struct {
	typ    Type
	id     receivers.Identity
	sender string   // whom its series is counted against
	keys   []string // as senders write its name and tags

	active  bool    // something has arrived since the last flush
	heard   int64   // second of the last reading
	flushed int64   // second of its last sample; 0: no sample yet
	value   float64 // of a counter, what was counted; of a gauge, its value
	timer   timer
	set     set

	// Only flushes use these.
	receivers.Series       // its ticks come from server.tick
	asked            bool  // the reference is being asked for
	columns          []int // of a timer: the statistic of each data source; -1: none of ours
}

// add takes a reading of any type but Set. room says that one more value of a timer may be kept.
func (m *metric) add(r *Reading, room bool) (kept bool) {
	m.active = true
	switch m.typ {
	case Counter:
		m.value += r.Value / r.Rate
	case Gauge:
		if r.Delta {
			m.value += r.Value
		} else {
			m.value = r.Value
		}
	case Timer:
		return m.timer.add(r.Value, r.Rate, room)
	}
	return false
}

// clear makes the metric begin anew after a flush.
func (m *metric) clear() {
	m.active = false
	switch m.typ {
	case Counter:
		m.value = 0
	case Timer:
		m.timer.clear()
	case Set:
		m.set = set{}
	}
}

// rises reports whether samples of the metric are counts since the sample before.
func (t Type) rises() bool { return t == Counter || t == Timer }

// appendValues appends the values of the metric's sample.
func (m *metric) appendValues(dst []rra.Value, all []statistic) []rra.Value {
	switch m.typ {
	case Set:
		return append(dst, rra.Float(m.set.count()))
	case Timer:
		slices.Sort(m.timer.kept)
		return m.appendTimer(dst, all)
	}
	return append(dst, rra.Float(m.value))
}

func (m *metric) appendTimer(dst []rra.Value, all []statistic) []rra.Value {
	for _, s := range all {
		v := 0.0
		switch {
		case m.timer.seen > 0:
			v = s.of(&m.timer)
		case s.kind != rra.Absolute:
			v = math.NaN()
		}
		if math.IsNaN(v) {
			dst = append(dst, rra.Unknown)
		} else {
			dst = append(dst, rra.Float(v))
		}
	}
	return dst
}

// define returns the definition of a new series. step is in seconds, and every is the seconds from
// one flush to the next.
func define(t Type, stats []statistic, step, every int64) *rra.Definition {
	d := receivers.StandardDefinition(step)
	value := d.Sources[0]
	value.Heartbeat = 2 * max(step, every)
	switch t {
	case Counter:
		value.Kind = rra.Absolute
	case Timer:
		d.Sources = nil
		for _, s := range stats {
			ds := value
			ds.Name, ds.Kind = s.name, s.kind
			d.Sources = append(d.Sources, ds)
		}
		return d
	}
	d.Sources = []rra.DataSource{value}
	return d
}

// fit prepares the metric for its series, and reports whether the series can take its samples.
func (m *metric) fit(d *rra.Definition, stats []statistic) bool {
	if m.typ != Timer {
		ds, ok := receivers.OnlySource(d)
		return ok && (ds.Kind == rra.Absolute) == (m.typ == Counter)
	}
	m.columns = nil
	found := false
	for i := range d.Sources {
		ds := &d.Sources[i]
		if ds.Kind == rra.Compute {
			continue
		}
		k := slices.IndexFunc(stats, func(s statistic) bool { return s.name == ds.Name && s.kind == ds.Kind })
		m.columns = append(m.columns, k)
		found = found || k >= 0
	}
	return found
}
