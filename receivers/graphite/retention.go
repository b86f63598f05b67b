package graphite

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Retention is one archive of a storage schema.
type Retention struct {
	Row  int64 // seconds
	Rows int64
}

// ParseRetentions reads the retentions of a storage schema: ROW:TIME with commas between them, such
// as 10s:6h,1min:7d, or ROW:NUMBER. The result is sorted by the rows. As carbon requires it, each
// row is a multiple of the shorter ones, and is kept for longer.
func ParseRetentions(text string) ([]Retention, error) {
	var rs []Retention
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		row, keep, ok := strings.Cut(part, ":")
		if !ok {
			return nil, fmt.Errorf("%q is no ROW:TIME such as 10s:6h", part)
		}
		length, _, err := parseUnits(row)
		if err == nil && length == 0 {
			err = fmt.Errorf("a row has at least a second")
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", part, err)
		}
		n, plain, err := parseUnits(keep)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", part, err)
		}
		if !plain {
			n /= length
		}
		if n < 1 || n > math.MaxInt64/length {
			return nil, fmt.Errorf("%q has no rows, or too many", part)
		}
		rs = append(rs, Retention{Row: length, Rows: n})
	}
	slices.SortFunc(rs, func(a, b Retention) int { return cmp.Compare(a.Row, b.Row) })
	for i := 1; i < len(rs); i++ {
		a, b := rs[i-1], rs[i]
		switch {
		case a.Row == b.Row:
			return nil, fmt.Errorf("rows of %d seconds are there twice", a.Row)
		case b.Row%a.Row != 0:
			return nil, fmt.Errorf("rows of %d seconds are no multiple of %d", b.Row, a.Row)
		case a.Row*a.Rows >= b.Row*b.Rows:
			return nil, fmt.Errorf("rows of %d seconds are not kept for longer than those of %d", b.Row, a.Row)
		}
	}
	return rs, nil
}

// unitWords are the units that whisper knows. Each may be cut short.
var unitWords = []struct {
	word    string
	seconds int64
}{
	{"seconds", 1}, {"minutes", 60}, {"hours", 3600}, {"days", 86400}, {"weeks", 7 * 86400}, {"years", 365 * 86400},
}

// parseUnits reads a number with a unit, in seconds. plain says that it has no unit.
func parseUnits(text string) (n int64, plain bool, err error) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	n, err = strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || digits[0] == '+' {
		return 0, false, fmt.Errorf("%q is no number with a unit", text)
	}
	unit := text[len(digits):]
	if unit == "" {
		return n, true, nil
	}
	for _, u := range unitWords {
		if !strings.HasPrefix(u.word, unit) {
			continue
		}
		if n > math.MaxInt64/u.seconds {
			break
		}
		return n * u.seconds, false, nil
	}
	return 0, false, fmt.Errorf("%q is no number of seconds, minutes, hours, days, weeks or years", text)
}
