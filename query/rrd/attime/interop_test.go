package attime_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/attime"
)

// zones have daylight saving time on either hemisphere, half hours, none, odd
// jumps, and offsets on both sides of UTC.
var zones = []string{
	"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata",
	"Australia/Lord_Howe", "Europe/Dublin", "America/St_Johns", "Pacific/Apia",
}

// original is an rrdtool in pipe mode.
type original struct {
	t    testing.TB
	zone string
	dir  string
	pipe *rrdtooltest.Pipe
}

func startOriginal(t testing.TB, zone string) *original {
	t.Helper()
	path := rrdtooltest.Peer(t, "rrdtool")
	o := &original{t: t, zone: zone, dir: t.TempDir()}
	o.pipe = rrdtooltest.StartPipe(t, path, o.dir, append(os.Environ(), "TZ="+zone, "LC_ALL=C"))
	if got := o.ask("create p.rrd --start 1000000000 --step 1 DS:x:GAUGE:20:0:100 RRA:AVERAGE:0.5:1:5"); got != "" {
		t.Fatal("create: ", got)
	}
	return o
}

// ask runs one command and returns its output, or its message with ERROR in front.
func (o *original) ask(line string) string {
	o.t.Helper()
	out, err := o.pipe.Ask(line)
	if err != nil {
		return out + "ERROR: " + err.Error()
	}
	return strings.TrimSuffix(out, "\n")
}

const createArgs = " --step 1 DS:x:GAUGE:20:0:100 RRA:AVERAGE:0.5:1:5"

// instant asks for the second of spec.
func (o *original) instant(spec string) string {
	if got := o.ask("create t.rrd --start '" + spec + "'" + createArgs); got != "" {
		return got
	}
	return o.ask("last t.rrd")
}

// fresh asks in a process of its own, which has no memory of earlier times.
func (o *original) fresh(spec string) string {
	file := filepath.Join(o.dir, "fresh.rrd")
	args := append([]string{"create", file, "--start", spec}, strings.Fields(createArgs)...)
	cmd := exec.Command("rrdtool", args...)
	cmd.Env = append(os.Environ(), "TZ="+o.zone, "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return strings.TrimSuffix(string(out), "\n")
	}
	out, _ = exec.Command("rrdtool", "last", file).CombinedOutput()
	return strings.TrimSuffix(string(out), "\n")
}

var backward = regexp.MustCompile(`^ERROR: start \((-?\d+)\) should be less than end \((-?\d+)\)$`)

// instant is what original.instant must give.
func instant(spec string, now time.Time) string {
	v, err := attime.Instant(spec, now)
	if err == attime.ErrRelative {
		return "ERROR: " + err.Error()
	}
	if err != nil {
		return "ERROR: start time: " + err.Error()
	}
	if v < 10*365*86400 {
		return "ERROR: the first entry to the RRD should be after 1980"
	}
	return strconv.FormatInt(v, 10)
}

// beyond reports whether an answer lies where C libraries and Go disagree about
// daylight saving time, or past the years that C can hold.
func beyond(got string) bool {
	v, _ := strconv.ParseInt(got, 10, 64)
	return v > 1e13 || strings.HasSuffix(got, "(out of range?)")
}

// steady calls ask until it returns true, or fails within one second. The
// original may still see the last second some milliseconds into the next.
func steady(ask func(now time.Time, sure func() bool) bool) {
	for {
		now := time.Now()
		sure := func() bool { return now.Nanosecond() > 20e6 && time.Now().Unix() == now.Unix() }
		if ask(now, sure) || sure() {
			return
		}
	}
}

func TestInstantAsOriginal(t *testing.T) {
	r := seedtest.Rand(t)
	specs := append([]string(nil), handmade...)
	for range 10 * seedtest.Programs(300, 1) {
		specs = append(specs, randomSpec(r))
	}
	t.Logf("%d specs of an instant", len(specs))
	for _, zone := range zones {
		t.Run(zone, func(t *testing.T) {
			loc := mustZone(t, zone)
			o := startOriginal(t, zone)
			for i, spec := range specs {
				if i >= len(handmade) && i%len(zones) != indexOf(zones, zone) {
					continue
				}
				steady(func(now time.Time, sure func() bool) bool {
					now = now.In(loc)
					got := instant(spec, now)
					if beyond(got) {
						return true
					}
					want := o.instant(spec)
					if got == want {
						return true
					}
					// The C library settles doubtful hours by what it was asked before.
					if want = o.fresh(spec); got == want {
						return true
					}
					if sure() {
						t.Errorf("%q at %d: got %s, want %s", spec, now.Unix(), got, want)
					}
					return false
				})
			}
		})
	}
}

func TestPairAsOriginal(t *testing.T) {
	r := seedtest.Rand(t)
	n := 10 * seedtest.Programs(200, 1)
	t.Logf("%d specs of a range", n)
	for _, zone := range zones {
		t.Run(zone, func(t *testing.T) {
			loc := mustZone(t, zone)
			o := startOriginal(t, zone)
			for range n / len(zones) {
				a, b := randomEnd(r, "start"), randomEnd(r, "end")
				steady(func(now time.Time, sure func() bool) bool {
					now = now.In(loc)
					got, seen := pair(a, b, now)
					if !seen {
						return true
					}
					want := o.ask(fmt.Sprintf("fetch p.rrd AVERAGE -s '%s' -e '%s'", a, b))
					if got == want {
						return true
					}
					if doubtful(got, want, loc) {
						return true
					}
					if sure() {
						t.Errorf("-s %q -e %q at %d: got %s, want %s", a, b, now.Unix(), got, want)
					}
					return false
				})
			}
		})
	}
}

// pair is what fetch says of a range. Only ranges that run backward, and errors, are seen.
func pair(a, b string, now time.Time) (string, bool) {
	from, to, err := attime.ParsePair(a, b, now)
	switch {
	case err != nil:
		return "ERROR: " + err.Error(), !beyond(err.Error())
	case from < 10*365*86400 || to < 10*365*86400:
		return "", false
	case from > 1e13 || to > 1e13:
		return "", false
	case from > to:
		return fmt.Sprintf("ERROR: start (%d) should be less than end (%d)", from, to), true
	}
	return "", false
}

// doubtful reports whether two answers differ in nothing but which of two equal
// wall times is meant.
func doubtful(got, want string, loc *time.Location) bool {
	g, w := backward.FindStringSubmatch(got), backward.FindStringSubmatch(want)
	if g == nil || w == nil {
		return false
	}
	for i := 1; i <= 2; i++ {
		a, _ := strconv.ParseInt(g[i], 10, 64)
		b, _ := strconv.ParseInt(w[i], 10, 64)
		if d := a - b; d != 0 && (max(d, -d) > 3600 || !jumpNear(a, loc)) {
			return false
		}
	}
	return true
}

func jumpNear(t int64, loc *time.Location) bool {
	_, a := time.Unix(t-2*86400, 0).In(loc).Zone()
	_, b := time.Unix(t+2*86400, 0).In(loc).Zone()
	return a != b
}

func mustZone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Skipf("no time zone %s: %v", name, err)
	}
	return loc
}

func indexOf(s []string, v string) int {
	for i := range s {
		if s[i] == v {
			return i
		}
	}
	return -1
}
