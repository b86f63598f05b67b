package show

import (
	"strconv"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
)

// The limits of a plot.
const (
	leastPlotted = 3600 // seconds of the default range
	plottedRows  = 120  // of the default range, at least
)

// A plotting is a run of rondo plot.
type plotting struct {
	*cli.Factory
	cli.LookFlags
	start, end   string
	cf           string
	ds           []string
	lower, upper string
	log, stack   bool
	binary       bool
	noLegend     bool
	band         string
	watch        string

	shift shift
}

// limit returns the value of --lower or --upper, nil if it is not given.
func limit(text string) *float64 {
	v, err := strconv.ParseFloat(text, 64)
	if text == "" || err != nil { // check has refused other texts
		return nil
	}
	return &v
}

// A shift is how keys have changed the range of a chart.
type shift struct {
	length int64 // seconds; 0: as it was
	back   int64 // seconds from its end
}

func (s shift) apply(start, end int64) (int64, int64) {
	if s.length > 0 {
		start = end - s.length
	}
	return max(0, start-s.back), max(1, end-s.back)
}
