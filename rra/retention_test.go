package rra_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/rra"
)

func TestParseRetention(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"10s for 1d", "RRA:AVERAGE:0.5:10s:1d"},
		{"10s for 1d, 5m for 1y", "RRA:AVERAGE:0.5:10s:1d RRA:AVERAGE:0.5:5m:1y"},
		{" 60 for 86400 min Max,1h for 10y last ", "RRA:MIN:0.5:60s:86400s RRA:MAX:0.5:60s:86400s RRA:LAST:0.5:1h:10y"},
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
	} {
		if _, err := rra.ParseRetention(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
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
