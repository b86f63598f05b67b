package rra_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/rra"
)

func TestParseRetention(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"10s for 1d", "RRA:AVERAGE:0.5:10s:1d"},
		{"10s for 1d, 5m for 1y", "RRA:AVERAGE:0.5:10s:1d RRA:AVERAGE:0.5:5m:1y"},
		{"1min for 6months", "RRA:AVERAGE:0.5:1m:6M"},
		{"10seconds for 1hour, 1minute for 2days max, 1hour for 3weeks, 1day for 1year, 1d for 1mon", "RRA:AVERAGE:0.5:10s:1h RRA:MAX:0.5:1m:2d " +
			"RRA:AVERAGE:0.5:1h:3w RRA:AVERAGE:0.5:1d:1y RRA:AVERAGE:0.5:1d:1M"},
		{" 60 for 86400s min Max,1h for 10y last ", "RRA:MIN:0.5:60s:86400s RRA:MAX:0.5:60s:86400s RRA:LAST:0.5:1h:10y"},
	} {
		got, err := rra.ParseRetention(tt.text)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
		}
		if diff := cmp.Diff(strings.Fields(tt.want), got); diff != "" {
			t.Errorf("%q: -want +got\n%s", tt.text, diff)
		}
		if _, err := rra.ParseDefinition(10, append([]string{"DS:a:GAUGE:20:U:U"}, got...)); err != nil {
			t.Errorf("%q gives %v, which make no definition: %v", tt.text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                     "want ROW for TIME",
		"10s":                  "want ROW for TIME",
		"10s for":              "want ROW for TIME",
		"10s of 1d":            "want ROW for TIME",
		"10s for 1d,":          "want ROW for TIME",
		"10x for 1d":           `"10x" is no duration`,
		"10s for -1d":          `"-1d" is no duration`,
		"0 for 1d":             `"0" is no duration`,
		"1d for 10s":           "longer than",
		"10s for 1d hwpredict": `"hwpredict" is none of average, min, max, last`,
		"10s for 1d 5m for 1y": `"5m" is none of`,
		// What follows the first letter of a unit was not looked at: 1month was one minute.
		"10s for 1h30m":     `"1h30m" is no duration`,
		"10s for 1d;":       `"1d;" is no duration`,
		"1m for 2dx":        `"2dx" is no duration`,
		"1m for 1moon":      `"1moon" is no duration`,
		"10s5 for 1d":       `"10s5" is no duration`,
		"1m for 1.5d":       `"1.5d" is no duration`,
		"10 for 1 day":      "write 1d",
		"10s for 90 min":    "write 90m",
		"1s for 10s second": `"second" is none of`,

		"10s for 1d, 1m for 1y, 10 for 24h average": `"10 for 24h average": the same archive stands before it`,
	} {
		if _, err := rra.ParseRetention(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// TestRetentionThatDoesNotFit: rows that are no multiple of the step, and times that are no
// multiple of the row, were "value would truncate when scaled".
func TestRetentionThatDoesNotFit(t *testing.T) {
	for text, want := range map[string]string{
		"7s for 1d":                 `"7s for 1d": a row of 7s is no multiple of the step, 10 s`,
		"10s for 1d, 1w for 1month": `"1w for 1month": 1M is no multiple of 1w, the length of a row`,
	} {
		if _, err := rra.ParseDefinition(10, []string{"DS:a:GAUGE:20:U:U", text}); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// TestRowsNameTheStep: without a step, which is 300 s then, nothing said which one would do.
func TestRowsNameTheStep(t *testing.T) {
	for text, want := range map[string]rra.RowError{
		"10s for 1d":            {Part: "10s for 1d", Row: "10s", Step: 300, Fits: 10},
		"5m for 1d, 90s for 1h": {Part: "90s for 1h", Row: "90s", Step: 300, Fits: 30},
		"1h for 1w,7s for 70s":  {Part: "7s for 70s", Row: "7s", Step: 300, Fits: 1},
	} {
		_, err := rra.ParseDefinition(300, []string{"DS:a:GAUGE:20:U:U", text})
		got, ok := errors.AsType[*rra.RowError](err)
		if !ok || *got != want {
			t.Errorf("%q: got %+v (%v), want %+v", text, got, err, want)
			continue
		}
		if _, err := rra.ParseDefinition(got.Fits, []string{"DS:a:GAUGE:20:U:U", text}); err != nil {
			t.Errorf("%q with that step: %v", text, err)
		}
	}
}

func TestRetentionInWords(t *testing.T) {
	a := rra.Archive{PDPs: 223, Rows: 1202}
	if got, want := a.Retention(10), "37 min 10 s for 31 d 1 h"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for seconds, want := range map[int64]string{
		0: "0 s", 59: "59 s", 60: "1 min", 3599: "59 min 59 s", 3600: "1 h", 7199: "2 h", 86399: "24 h", 86400: "1 d", 90000: "1 d 1 h", 366 * 86400: "366 d",
	} {
		if got := rra.FormatDuration(seconds); got != want {
			t.Errorf("%d s: got %q, want %q", seconds, got, want)
		}
	}
}
