package attime_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rondo-db/rondo/query/rrd/attime"
)

func Example() {
	berlin := time.FixedZone("CET", 3600)
	now := time.Date(2026, time.March, 14, 15, 9, 26, 0, berlin)
	for _, r := range [][2]string{
		{"end-1d", "now"},
		{"midnight", "start+10min"},
		{"12:34 Jan 5 2026", "noon yesterday"},
	} {
		from, to, err := attime.ParsePair(r[0], r[1], now)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(time.Unix(from, 0).In(berlin).Format(time.DateTime), "to", time.Unix(to, 0).In(berlin).Format(time.DateTime))
	}
	_, _, err := attime.ParsePair("25:00", "now", now)
	fmt.Println(err)
	// Output:
	// 2026-03-13 15:09:26 to 2026-03-14 15:09:26
	// 2026-03-14 00:00:00 to 2026-03-14 00:10:00
	// 2026-01-05 12:34:00 to 2026-03-13 12:00:00
	// start time: did you really mean month 25?
}

// Seconds that rrdtool 1.7.2 gave with its clock set to now, so that the
// grammar is held where there is no rrdtool.
func TestInstant(t *testing.T) {
	now := time.Unix(1700000000, 0).UTC() // Tue 2023-11-14 22:13:20
	for _, tt := range []struct {
		spec string
		want int64
		err  string
	}{
		{spec: "now-1d2h", want: 1699906400},
		{spec: "-5m", want: 1686780800},
		{spec: "-6m", want: 1699999640},
		{spec: "-1d2m", want: 1694643200},
		{spec: "+1h-5m", want: 1686784400},
		{spec: "-5 5 5d", want: 1699567995},
		{spec: "now-3s2-1m", want: 1697321595}, // the second minus is a word that is no unit
		{spec: "now-1d2-10m", want: 1699912998},
		{spec: "noon sun", want: 1699790400},
		{spec: "noon sat", want: 1700308800},
		{spec: "Jan 1", want: 1672611200},
		{spec: "12:34 Jan 1", want: 884541386040},
		{spec: "20010203 x:5 pm", want: 981201900},
		{spec: "jan 400", want: 1707084800},
		{spec: "epoch+100y", want: 946598400},
		{spec: "today", err: "unparsable time: today"},
		{spec: "24:00", err: "did you really mean month 24?"},
		{spec: "20010203+1d", err: "unparsable trailing text: '...1d'"},
		{spec: "5_. 5 / . ", err: "unparsable trailing text: '...0 . '"},
		{spec: "5.6 x .", err: "unparsable trailing text: '...0 .'"},
		{spec: "20010203 +/", err: "There should be number after '+'"},
		{spec: "end-1d", err: attime.ErrRelative.Error()},
	} {
		got, err := attime.Instant(tt.spec, now)
		if err != nil != (tt.err != "") || err != nil && err.Error() != tt.err || got != tt.want {
			t.Errorf("%q: got %d, %v; want %d, %s", tt.spec, got, err, tt.want, tt.err)
		}
	}
}

// TestSkippedDay: Samoa had no 30 December 2011, and rrdtool no time in it where it would have to
// be daylight saving time.
func TestSkippedDay(t *testing.T) {
	apia, err := time.LoadLocation("Pacific/Apia")
	if err != nil {
		t.Skip("no time zones here: ", err)
	}
	_, err = attime.Instant("1319873603+63d", time.Unix(1700000000, 0).In(apia))
	if err == nil || err.Error() != "the specified time is incorrect (out of range?)" {
		t.Errorf("got error %v", err)
	}
}
