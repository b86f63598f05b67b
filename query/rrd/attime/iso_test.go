package attime_test

import (
	"encoding/json"
	"os"
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

// TestTypedTimes: the command line reads the texts of the table as the pages do, which have the same
// table. null is an error.
func TestTypedTimes(t *testing.T) {
	data, err := os.ReadFile("../../web/testdata/times.json")
	if err != nil {
		t.Fatal(err)
	}
	var table []struct {
		Now   int64
		Zone  string
		Times map[string]*int64
	}
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	for _, c := range table {
		zone, err := time.LoadLocation(c.Zone)
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range c.Times {
			read, err := attime.FromISO(text, zone)
			var got int64
			if err == nil {
				got, _, err = attime.ParsePair(read, "now", time.Unix(c.Now, 0).In(zone))
			}
			if (err != nil) != (want == nil) || want != nil && got != *want {
				t.Errorf("%q at %d in %s: %d, %v", text, c.Now, c.Zone, got, err)
			}
		}
	}
}
