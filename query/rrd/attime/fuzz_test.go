package attime_test

import (
	"testing"
	"time"

	"github.com/rondo-db/rondo/query/rrd/attime"
)

func FuzzParse(f *testing.F) {
	for _, spec := range handmade {
		f.Add(spec, int64(1700000000))
	}
	f.Add("2:30 20230326", int64(-1))           // a wall time that clocks skip
	f.Add("now+99y", int64(1<<40))              // a present past 32 bits
	f.Add("20010203 \xff\xc3", int64(0))        // bytes that are no text
	f.Add("1e9+9223372036854775807y", int64(1)) // numbers past every width
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		loc = time.UTC
	}
	f.Fuzz(func(t *testing.T, spec string, now int64) {
		at := time.Unix(now%(1<<45), 0).In(loc)
		a, err := attime.Instant(spec, at)
		if err != nil {
			return
		}
		// A range of that time and nothing after it is empty.
		from, to, err := attime.ParsePair(spec, "start+0s", at)
		if err != nil || from != a || from != to {
			t.Errorf("%q: instant %d, range %d to %d: %v", spec, a, from, to, err)
		}
	})
}
