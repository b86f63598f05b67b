package rrdtool_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// Zones with repeated hours in the time of the series: on both sides of Greenwich, of half an hour,
// of a day that never was, without a change of daylight saving time, and from rules in TZ.
var repeatedHours = []string{
	"America/New_York", "America/Los_Angeles", "America/Sao_Paulo", "America/St_Johns", "Atlantic/Azores", "Europe/Berlin", "Europe/London",
	"Europe/Moscow", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia", "EST5EDT,M3.2.0,M11.1.0", "<-0330>3:30<-0230>,M3.2.0,M11.1.0",
	"NZST-12NZDT,M9.5.0,M4.1.0/3",
}

// changesBack returns the times from 2008 to 2023 at which clocks are set back.
func changesBack(loc *time.Location) (all []int64) {
	offset := func(t int64) int {
		_, off := time.Unix(t, 0).In(loc).Zone()
		return off
	}
	for t := int64(1_200_000_000); t < 1_700_000_000; t += 1800 {
		if offset(t+1800) < offset(t) {
			all = append(all, t+1800)
		}
	}
	return all
}

// wallTime spells a time as it is read from a clock.
func wallTime(r *rand.Rand, at time.Time) string {
	clock := oneOf(r, "15:04", "3:04pm", "03:04 PM", "15:04")
	return strings.ToLower(at.Format(oneOf(r, clock+" 02.01.2006", clock+" 01/02/2006", clock+" Jan 2 2006", clock+" 20060102", "20060102 "+clock,
		"02.01.2006 "+clock, "January 2 2006 "+clock)))
}

// TestRepeatedHourAsOriginal: each command reads times in the hour that clocks repeat as rrdtool
// does in a process of its own.
func TestRepeatedHourAsOriginal(t *testing.T) {
	o := newOriginal(t)
	const def = "DS:a:GAUGE:600:U:U"
	for i, zone := range repeatedHours {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			o := &original{t: t, path: o.path, dir: t.TempDir(), env: append(slices.Clone(o.env), "TZ="+zone)}
			r := rand.New(rand.NewPCG(25, uint64(i)))
			loc := rrdtool.Location(zone)
			ours := &rondo{store: newMemory(), dir: o.dir, loc: loc}
			changes := changesBack(loc)
			if len(changes) == 0 {
				t.Fatal("clocks are never set back")
			}
			same := func(args ...string) {
				t.Helper()
				ours.now = time.Now()
				want, got := comparable(o.run(o.dir, args)), comparable(ours.run(args))
				for _, a := range []*answer{&want, &got} { // rrdtool prints rows of memory that it has not filled
					a.Stdout, _, _ = strings.Cut(a.Stdout, "<data>")
				}
				if d := cmp.Diff(want, got); d != "" && args[0] != "create" || want.Exit != got.Exit {
					t.Errorf("%q (-rrdtool +rondo):\n%s", args, d)
				}
			}
			for n := range 2 {
				change := changes[r.IntN(len(changes))]
				about := func() string {
					s := wallTime(r, time.Unix(change+r.Int64N(4*3600)-2*3600, 0).In(loc))
					return s + oneOf(r, "", "", "", " + 1 hour", "-1d", " + 5min", " + 0 days")
				}
				name := fmt.Sprintf("%d.rrd", n)
				same("create", name, "--start", oneOf(r, "1690000000", "1695000000"), "--start", about(), "--step", "60", def, "RRA:AVERAGE:0.5:1:3")
				same("last", name)
				same("create", name, "--start", about(), "--step", "60", def, "RRA:AVERAGE:0.5:1:3")
				same("last", name)
				same("update", name, about()+"@1", about()+"@2", about()+"@3")
				same("lastupdate", name)
				for _, r := range [][2]string{{about(), "start+2h"}, {"end-2h", about()}, {about(), about()}, {about(), "start-1h"}, {"end+1d", about()}} {
					same("fetch", name, "AVERAGE", "-s", r[0], "-e", r[1])
					same("xport", "-e", r[1], "-s", r[0], "DEF:a="+name+":a:AVERAGE", "XPORT:a")
				}
				inDEF := strings.NewReplacer(":", `\:`)
				// A range that runs backward is an error that shows both ends.
				same("xport", "-s", about(), "-e", "start+3h", "DEF:a="+name+":a:AVERAGE", "DEF:b="+name+":a:AVERAGE:start="+inDEF.Replace(about())+":end=start-1h")
				same("graphv", "x.png", "-s", about(), "-e", "start+3h", "DEF:a="+name+":a:AVERAGE:end="+inDEF.Replace(about())+":start=end+2h")
				same("graph", "x.png", "-s", about(), "-e", "start+3h", "DEF:a="+name+":a:AVERAGE:end="+inDEF.Replace(about())+":start="+inDEF.Replace(about())+"+1d")
			}
		})
	}
}
