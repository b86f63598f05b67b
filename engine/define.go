package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/rondo-db/rondo/rra"
)

// Define reads a definition: the step, the time between two samples; what to keep, in plain words;
// and the data sources in rrdtool's words.
//
//	engine.Define(10*time.Second, "10s for 1d, 5m for 1y", "DS:celsius:GAUGE:20:U:U")
//
// What to keep is rows and how long they stay, as averages unless names of consolidation functions
// follow: "5m for 1y average max". Both are a number with a unit behind it: s, m (minute), h, d, w,
// M (month of 31 days) or y (366 days), or the words sec, min, hour, day, week, month, year. Rows
// are multiples of the step, which is whole seconds, 1 s at least.
//
// The error wraps ErrInvalid.
func Define(step time.Duration, keep string, sources ...string) (*rra.Definition, error) {
	switch {
	case step < time.Second:
		return nil, invalid("the step %v is less than 1 s", step)
	case step%time.Second != 0:
		return nil, invalid("the step %v is not a whole number of seconds", step)
	}
	// ParseDefinition would also take rrdtool's words for it
	if _, err := rra.ParseRetention(keep); err != nil {
		return nil, invalid("%w", err)
	}
	for word := range strings.FieldsFuncSeq(keep, func(r rune) bool { return r == ' ' || r == ',' }) {
		if strings.Trim(word, "0123456789") == "" {
			return nil, invalid("%q: a number needs a unit: %ss, %[2]sm, %[2]sh, %[2]sd", keep, word)
		}
	}
	for _, s := range sources {
		if !strings.HasPrefix(s, "DS:") {
			return nil, invalid("%q is no data source: want "+wantedSource, s)
		}
		if strings.Contains(s, ":COMPUTE:") { // it needs the others
			continue
		}
		if _, err := rra.ParseDataSource(s, int64(step/time.Second)); err != nil {
			return nil, invalid("%q: %w: want "+wantedSource, s, err)
		}
	}
	d, err := rra.ParseDefinition(int64(step/time.Second), append([]string{keep}, sources...))
	if err != nil {
		return nil, invalid("%w", err)
	}
	return d, nil
}

const wantedSource = "DS:NAME:KIND:HEARTBEAT:MIN:MAX"

// What Gauge and Counter keep.
const (
	usualStep = 10 * time.Second
	usualKeep = "10s for 1d, 1m for 1w, 1h for 5y"
)

// Gauge returns a definition of data sources whose readings are values, such as temperatures. It is
// for a sample every 10 s; a source is unknown after 2 minutes without one. Rows of 10 s stay for a
// day, averages of a minute for a week and of an hour for five years: 500 kB for each name. The
// error wraps ErrInvalid. Use [Define] for anything else.
func Gauge(names ...string) (*rra.Definition, error) { return usual("DS:%s:GAUGE:120:U:U", names) }

// Counter is [Gauge] for readings that count up, such as octets of an interface: rows are their
// rates per second.
func Counter(names ...string) (*rra.Definition, error) { return usual("DS:%s:COUNTER:120:0:U", names) }

func usual(format string, names []string) (*rra.Definition, error) {
	sources := make([]string, len(names))
	for i, name := range names {
		sources[i] = fmt.Sprintf(format, name)
	}
	return Define(usualStep, usualKeep, sources...)
}
