package rra

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/rra/rpn"
)

// ParseRetention parses archives in plain words: a list of lengths of rows, and how long to keep
// them.
//
//	10s for 1d, 5m for 1y
//	1min for 1week average max, 1hour for 10years
//
// Names of consolidation functions may follow each part; without one it is AVERAGE. A duration is a
// number of seconds, or a number followed directly by a unit: s, m, h, d, w, M (31 days), y (366
// days), or one of the words sec, second, min, minute, hour, day, week, mon, month and year, also
// in the plural. The result is archives as rrdtool writes them, RRA:AVERAGE:0.5:10s:1d, with an xff
// of 0.5.
func ParseRetention(text string) ([]string, error) {
	parts, err := parseRetention(text)
	if err != nil {
		return nil, err
	}
	archives := make([]string, len(parts))
	for i, p := range parts {
		archives[i] = p.String()
	}
	return archives, nil
}

// A retained is one archive in plain words.
type retained struct {
	cf        CF
	row, span wordedTime
	text      string // the part of the list that it is from
}

func (r retained) same(o retained) bool {
	return r.cf == o.cf && r.row.seconds == o.row.seconds && r.span.seconds == o.span.seconds
}

// String returns the archive as rrdtool writes it.
func (r retained) String() string { return fmt.Sprintf("RRA:%s:0.5:%s:%s", r.cf, r.row, r.span) }

// A wordedTime is a duration as it was written.
type wordedTime struct {
	number  string
	unit    byte // of ParseDuration
	seconds int64
}

func (t wordedTime) String() string { return t.number + string(t.unit) }

func parseRetention(text string) ([]retained, error) {
	var out []retained
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		words := strings.Fields(part)
		if len(words) < 3 || words[1] != "for" {
			return nil, fmt.Errorf("%q: want ROW for TIME, as 5m for 1y, with a comma between two of them", part)
		}
		row, err := parseWordedTime(words[0])
		if err != nil {
			return nil, err
		}
		span, err := parseWordedTime(words[2])
		if err != nil {
			return nil, err
		}
		functions := words[3:]
		if len(functions) == 0 {
			functions = []string{Average.String()}
		} else if unit := unitWords[functions[0]]; unit != 0 && isDigit(words[2][len(words[2])-1]) {
			return nil, fmt.Errorf("%q: no space stands between a number and its unit: write %s%c", part, words[2], unit)
		}
		if span.seconds < row.seconds {
			return nil, fmt.Errorf("%q: a row of %s is longer than the %s that it is to be kept for", part, words[0], words[2])
		}
		for _, name := range functions {
			cf, err := ParseCF(strings.ToUpper(name))
			if err != nil || cf > Last {
				return nil, fmt.Errorf("%q: %q is none of average, min, max, last", part, name)
			}
			r := retained{cf, row, span, part}
			if slices.ContainsFunc(out, r.same) {
				return nil, fmt.Errorf("%q: the same archive stands before it", part)
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// fit returns an error if parts, which are from one text, do not fit a series with a step in
// seconds. The error is a *RowError if another step would fit.
func fit(parts []retained, step int64) error {
	for _, r := range parts {
		if r.row.seconds%step != 0 {
			return &RowError{Part: r.text, Row: r.row.String(), Step: step, Fits: commonStep(parts)}
		}
		if err := r.whole(); err != nil {
			return err
		}
	}
	return nil
}

// commonStep returns the longest step that divides the rows of all parts.
func commonStep(parts []retained) (step int64) {
	for _, r := range parts {
		step = rpn.GCD(r.row.seconds, step)
	}
	return step
}

// whole returns an error if the time for which rows are kept is not a whole number of rows.
func (r *retained) whole() error {
	if r.span.seconds%r.row.seconds != 0 {
		return fmt.Errorf("%q: %s is no multiple of %s, the length of a row", r.text, r.span, r.row)
	}
	return nil
}

// IsRetention reports whether text is meant for ParseRetention. rrdtool has no argument of this
// form.
func IsRetention(text string) bool {
	return strings.Contains(text, " for ") && !strings.Contains(text, ":")
}

// unitWords are the units of parseWordedTime.
var unitWords = map[string]byte{
	"s": 's', "sec": 's', "secs": 's', "second": 's', "seconds": 's',
	"m": 'm', "min": 'm', "mins": 'm', "minute": 'm', "minutes": 'm',
	"h": 'h', "hour": 'h', "hours": 'h',
	"d": 'd', "day": 'd', "days": 'd',
	"w": 'w', "week": 'w', "weeks": 'w',
	"M": 'M', "mon": 'M', "month": 'M', "months": 'M',
	"y": 'y', "year": 'y', "years": 'y',
}

// parseWordedTime parses a duration. Unlike ParseDuration it checks all letters of the unit:
// ParseDuration takes 1mon for one minute.
func parseWordedTime(word string) (wordedTime, error) {
	digits := strings.TrimLeft(word, "0123456789")
	t := wordedTime{number: word[:len(word)-len(digits)], unit: 's'}
	if digits != "" {
		t.unit = unitWords[digits]
	}
	if t.unit != 0 {
		var err error
		if t.seconds, err = ParseDuration(t.String()); err == nil {
			return t, nil
		}
	}
	return t, fmt.Errorf("%q is no duration: want 90 (seconds), 90s, 15m, 12h, 30d, 4w, 6M or 6months, 1y", word)
}

// Retention describes an archive of a series with a step in seconds, in the words of
// ParseRetention: the length of a row, and how long rows are kept.
func (a *Archive) Retention(step int64) string {
	row := a.PDPs * step
	return FormatDuration(row) + " for " + FormatDuration(row*a.Rows)
}

// FormatDuration prints seconds in at most two neighbouring units of d, h, min and s, beginning
// with the largest that fits. The number is rounded to the second of them.
func FormatDuration(seconds int64) string {
	units := []struct {
		name    string
		seconds int64
	}{{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}}
	for i, u := range units {
		if seconds < u.seconds {
			continue
		}
		if i+1 == len(units) {
			return fmt.Sprint(seconds, " ", u.name)
		}
		next := units[i+1]
		n, rest := seconds/u.seconds, (seconds%u.seconds+next.seconds/2)/next.seconds
		if rest == u.seconds/next.seconds {
			n, rest = n+1, 0
		}
		if rest == 0 || n >= 100 {
			return fmt.Sprint(n, " ", u.name)
		}
		return fmt.Sprint(n, " ", u.name, " ", rest, " ", next.name)
	}
	return "0 s"
}
