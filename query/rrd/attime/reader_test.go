package attime_test

import (
	"testing"
	"time"

	"github.com/rondo-db/rondo/query/rrd/attime"
)

// TestRepeatedHour: of a wall time that clocks show twice the one is meant that has the offset of
// the time before, as for rrdtool 1.7.2. A command begins at an offset of 0, and a range with the
// present.
func TestRepeatedHour(t *testing.T) {
	const first, second = 1699162200, 1699165800
	zone := mustZone(t, "America/New_York")
	winter, summer := time.Unix(1700000000, 0).In(zone), time.Unix(1690000000, 0).In(zone)
	for _, spec := range []string{"01:30 05.11.2023", "1:30 11/05/2023", "1:30am Nov 5 2023", "20231105 1:30", "05.11.2023 01:30", "01:30 20231105"} {
		if got, err := attime.Instant(spec, winter); got != first || err != nil {
			t.Errorf("%q alone: %d, %v; want %d", spec, got, err, first)
		}
		for now, want := range map[time.Time]int64{winter: second, summer: first} {
			if from, to, err := attime.ParsePair(spec, "start+1d", now); from != want || err != nil {
				t.Errorf("-s %q in %s: %d to %d, %v; want %d", spec, now.Month(), from, to, err, want)
			}
			if from, to, err := attime.ParsePair("end-1h", spec, now); to != want || from != want-3600 || err != nil {
				t.Errorf("-s end-1h -e %q in %s: %d to %d, %v; want %d", spec, now.Month(), from, to, err, want)
			}
		}
		r := attime.NewReader(winter)
		for _, c := range []struct {
			spec string
			want int64
		}{{spec, first}, {"noon 20240101", 1704128400}, {spec, second}, {"1690000000", 1690000000}, {spec, first}} {
			if got, err := r.Instant(c.spec); got != c.want || err != nil {
				t.Errorf("%q after others: %d, %v; want %d", c.spec, got, err, c.want)
			}
		}
	}
}
