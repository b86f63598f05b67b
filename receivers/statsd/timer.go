package statsd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/rra"
)

// keptValues is how many values of one timer are kept from one flush to the next. If there are
// more, a random choice of them is kept, from which median and percentiles are taken.
const keptValues = 4096

// A timer is what has arrived of a timer since the last flush.
type timer struct {
	count, sum   float64 // each value as often as its rate says that it was measured
	squares      float64
	lower, upper float64
	seen         int // values
	kept         []float64
}

// add adds a value that stands for 1/rate values. room says that one more value may be kept.
func (t *timer) add(v, rate float64, room bool) (kept bool) {
	if t.seen == 0 {
		t.lower, t.upper = v, v
	}
	t.seen++
	t.count += 1 / rate
	t.sum += v / rate
	t.squares += v * v / rate
	t.lower, t.upper = min(t.lower, v), max(t.upper, v)
	if len(t.kept) < keptValues && room {
		t.kept = append(t.kept, v)
		return true
	}
	if i := rand.IntN(t.seen); i < len(t.kept) {
		t.kept[i] = v
	}
	return false
}

// clear makes t empty. It frees its memory if it was large.
func (t *timer) clear() {
	kept := t.kept[:0]
	if cap(kept) > 256 {
		kept = nil
	}
	*t = timer{kept: kept}
}

// A statistic is a data source of a timer.
type statistic struct {
	name string
	kind rra.Kind
	of   func(*timer) float64 // if there are values, which are sorted
}

// statistics are the statistics of every timer. Where statsd has the same statistic the result is
// the same, except for values that were sampled.
var statistics = []statistic{
	{"count", rra.Absolute, func(t *timer) float64 { return t.count }},
	{"sum", rra.Absolute, func(t *timer) float64 { return t.sum }},
	{"mean", rra.Gauge, func(t *timer) float64 { return t.sum / t.count }},
	{"lower", rra.Gauge, func(t *timer) float64 { return t.lower }},
	{"upper", rra.Gauge, func(t *timer) float64 { return t.upper }},
	{"std", rra.Gauge, (*timer).deviation},
	{"median", rra.Gauge, (*timer).median},
}

func (t *timer) deviation() float64 {
	mean := t.sum / t.count
	return math.Sqrt(max(t.squares/t.count-mean*mean, 0))
}

func (t *timer) median() float64 {
	n := len(t.kept)
	if n == 0 {
		return math.NaN()
	}
	if n%2 == 0 {
		return (t.kept[n/2-1] + t.kept[n/2]) / 2
	}
	return t.kept[n/2]
}

// percentile returns the largest of the lowest p per cent of the values; NaN: these are no value.
func (t *timer) percentile(p float64) float64 {
	n := int(math.Floor(p/100*float64(len(t.kept)) + 0.5))
	if n < 1 {
		return math.NaN()
	}
	return t.kept[n-1]
}

// percentiles returns the statistics for a list of percentiles such as 50,90,99.9. Their names are
// p50, p90, p99_9.
func percentiles(list string) ([]statistic, error) {
	var all []statistic
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		p, err := strconv.ParseFloat(text, 64)
		if err != nil || !(p > 0 && p < 100) {
			return nil, fmt.Errorf("%q is no number between 0 and 100", text)
		}
		name := "p" + strings.ReplaceAll(strconv.FormatFloat(p, 'f', -1, 64), ".", "_")
		if slices.ContainsFunc(all, func(s statistic) bool { return s.name == name }) {
			return nil, fmt.Errorf("%q is there twice", text)
		}
		if len(name) > 19 || len(all) == 16 {
			return nil, fmt.Errorf("%q is too long, or one of more than 16", text)
		}
		all = append(all, statistic{name, rra.Gauge, func(t *timer) float64 { return t.percentile(p) }})
	}
	return all, nil
}
