package rra

import (
	"fmt"
	"strings"
)

// ParseRetention reads what is to be kept in plain words, a list of rows and how long they stay:
//
//	10s for 1d, 5m for 1y
//	1m for 1w average max, 1h for 10y
//
// The names of consolidation functions may follow each part; without one it is AVERAGE. Durations
// are seconds, or a number with one of the units s m h d w M (31 days) y (366 days). The result is
// archives in rrdtool's words, RRA:AVERAGE:0.5:10s:1d, whose xff is 0.5.
func ParseRetention(text string) ([]string, error) {
	var archives []string
	for part := range strings.SplitSeq(text, ",") {
		words := strings.Fields(part)
		if len(words) < 3 || words[1] != "for" {
			return nil, fmt.Errorf("%q: want ROW for TIME, as 5m for 1y, with a comma between two of them", strings.TrimSpace(part))
		}
		row, err := retentionTime(words[0])
		if err != nil {
			return nil, err
		}
		span, err := retentionTime(words[2])
		if err != nil {
			return nil, err
		}
		if span < row {
			return nil, fmt.Errorf("%q: a row of %s is longer than the %s that it is to be kept for", strings.TrimSpace(part), words[0], words[2])
		}
		functions := words[3:]
		if len(functions) == 0 {
			functions = []string{Average.String()}
		}
		for _, name := range functions {
			cf, err := ParseCF(strings.ToUpper(name))
			if err != nil || cf > Last {
				return nil, fmt.Errorf("%q: %q is none of average, min, max, last", strings.TrimSpace(part), name)
			}
			archives = append(archives, fmt.Sprintf("RRA:%s:0.5:%s:%s", cf, timeWithUnit(words[0]), timeWithUnit(words[2])))
		}
	}
	return archives, nil
}

// IsRetention says whether text is meant for ParseRetention: rrdtool has no argument of that form.
func IsRetention(text string) bool {
	return strings.Contains(text, " for ") && !strings.Contains(text, ":")
}

// retentionTime reads a duration, which a number must begin: ParseDuration takes 0 and less.
func retentionTime(word string) (int64, error) {
	d, err := ParseDuration(word)
	if err != nil || d < 1 || word[0] < '0' || word[0] > '9' {
		return 0, fmt.Errorf("%q is no duration: want 90 (seconds), 90s, 15m, 12h, 30d, 4w, 6M, 1y", word)
	}
	return d, nil
}

// timeWithUnit gives a number of seconds its unit: a bare number in an archive counts rows.
func timeWithUnit(word string) string {
	if last := word[len(word)-1]; last >= '0' && last <= '9' {
		return word + "s"
	}
	return word
}

// Retention tells an archive of a series of that step, in seconds, in the words of ParseRetention:
// how long a row is, and how long rows stay.
func (a *Archive) Retention(step int64) string {
	row := a.PDPs * step
	return FormatDuration(row) + " for " + FormatDuration(row*a.Rows)
}

// FormatDuration tells seconds in at most two units, the largest of d, h, min and s that fit; what
// is less than the second of them is rounded to it.
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
