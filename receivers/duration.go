package receivers

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseDuration parses a duration as every setting takes it: a number of seconds (30), a duration
// of Go (500ms, 1m30s), or a number with one of the units d, w, M (31 days) and y (366 days). It
// may be negative.
func ParseDuration(text string) (time.Duration, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return times(n, time.Second, text)
	}
	for unit, length := range map[string]time.Duration{
		"d": 24 * time.Hour, "w": 7 * 24 * time.Hour, "M": 31 * 24 * time.Hour, "y": 366 * 24 * time.Hour,
	} {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
				return times(n, length, text)
			}
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration: want 90 (seconds), 500ms, 90s, 15m, 12h, 30d", text)
	}
	return d, nil
}

// times returns n·unit, or an error if that is longer than a time.Duration can be.
func times(n int64, unit time.Duration, text string) (time.Duration, error) {
	if n > math.MaxInt64/int64(unit) || n < math.MinInt64/int64(unit) {
		return 0, fmt.Errorf("%q is longer than 292 years", text)
	}
	return time.Duration(n) * unit, nil
}

// maxStep is the longest step of a setting: a year. A longer one is a mistake.
const maxStep = 366 * 24 * time.Hour

// ParseStep parses the step of new series, and returns it in seconds.
func ParseStep(text string) (int64, error) {
	d, err := ParseDuration(text)
	if err != nil {
		return 0, err
	}
	if d < time.Second || d > maxStep || d%time.Second != 0 {
		return 0, fmt.Errorf("%q: want whole seconds, 1s to 366d", text)
	}
	return int64(d / time.Second), nil
}
