package attime_test

import (
	"testing"
	"time"

	"github.com/rondo-db/rondo/query/rrd/attime"
)

func TestFromISO(t *testing.T) {
	zone := time.FixedZone("", 3600)
	for text, want := range map[string]string{
		"2023-11-14T22:13:20Z":      "1700000000",
		"2023-11-14T22:13:20.5Z":    "1700000000",
		"2023-11-14T23:13:20+01:00": "1700000000",
		"2023-11-14T23:13:20":       "1700000000",
		"2023-11-14 23:13":          "1699999980",
		"2023-11-14":                "1699916400",
		"1700000000":                "1700000000",
		"end-1day":                  "end-1day",
		"noon-10days":               "noon-10days", // it was an ISO time that does not parse
		"12:34 Jan 5 2001":          "12:34 Jan 5 2001",
		"":                          "",
	} {
		if got, err := attime.FromISO(text, zone); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"2023-13-14T22:13:20Z", "2023-11-14T22", "2023-11-14T22:13:20X"} {
		if got, err := attime.FromISO(text, zone); err == nil {
			t.Errorf("%q: got %q", text, got)
		}
	}
}
