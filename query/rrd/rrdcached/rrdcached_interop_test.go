package rrdcached_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/wal"
)

// An original is a running rrdcached.
type original struct {
	base string
	addr net.Addr
}

// startOriginal runs rrdcached until the test is over.
func startOriginal(t testing.TB, args ...string) *original {
	t.Helper()
	dir := shortDir(t)
	o := &original{base: filepath.Join(dir, "base"), addr: &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"}}
	if err := os.Mkdir(o.base, 0o700); err != nil {
		t.Fatal(err)
	}
	rrdtooltest.RRDCached(t, o.base, o.addr.String(), args...)
	return o
}

var (
	signedNaN = regexp.MustCompile(`-?\bnan\b`)
	curRow    = regexp.MustCompile(`(?m)^rra\[\d+\]\.cur_row 1 \d+$`)
	untilNow  = regexp.MustCompile(`(?m)^(\d+ Success|Start: .*|End: .*| *\d+: .*)\n`)
	copied    = regexp.MustCompile(`^\d+ Info for \S+t\.rrd follows`)
	version   = regexp.MustCompile(`(?m)^rrd_version 2 000[35]$`)
	counted   = regexp.MustCompile(`(?m)^(\w+: )\d+$`)
)

// plain takes out of an answer what may differ.
func plain(request, answer, base string) string {
	answer = strings.ReplaceAll(answer, base, "@BASE")
	answer = strings.ReplaceAll(answer, "0 Nothing to flush: ", "0 Successfully flushed ") // there never is anything
	answer = curRow.ReplaceAllString(answer, "cur_row")                                    // rrdtool's rings begin anywhere
	command, _, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(request)), " ")
	switch command {
	case "INFO":
		if copied.MatchString(answer) { // a copy of another's definition does not say the version that it needs
			answer = version.ReplaceAllString(answer, "rrd_version")
		}
	case "FETCHBIN":
		answer = strings.ReplaceAll(answer, "\x00\x00\x00\x00\x00\x00\xf8\x7f", "\x00\x00\x00\x00\x00\x00\xf8\xff")
	case "FETCH":
		answer = signedNaN.ReplaceAllString(answer, "nan")
		if len(strings.Fields(strings.ReplaceAll(request, "\\ ", ""))) < 5 { // up to now, which is another for each
			answer = untilNow.ReplaceAllString(answer, "")
		}
	case "LIST":
		lines := strings.SplitAfter(answer, "\n")
		slices.Sort(lines[1:])
		if !strings.HasPrefix(answer, "-1") { // rrdcached makes folders of series that it then does not make
			lines = slices.DeleteFunc(lines[1:], func(line string) bool { return !strings.HasSuffix(line, ".rrd\n") })
		}
		answer = strings.Join(lines, "")
	case "STATS":
		answer = counted.ReplaceAllString(answer, "$1n")
	}
	if command == "HELP" || strings.HasPrefix(request, "HELP") { // the words are rondo's own
		_, answer, _ = strings.Cut(strings.Split(answer, "\n")[0], " ")
	}
	for _, cut := range []string{"/../..", "mmaping file"} { // what file systems say of folders
		if i := strings.Index(answer, cut); i >= 0 && strings.HasPrefix(answer, "-1 ") {
			answer = "-1 a folder"
		}
	}
	return answer
}

// TestAnswersAreRRDCacheds asks both the same at random, and compares what they answer.
func TestAnswersAreRRDCacheds(t *testing.T) {
	t.Parallel()
	o := startOriginal(t)
	store := enginetest.OpenDir(t, t.TempDir(), core.Options{Sync: wal.SyncNone})
	s := serve(t, rrdcached.Options{Store: store}, 0)
	seed := seedtest.One(t)
	theirs, ours := dial(t, o.addr), dial(t, s.addr)
	asked, programs := 0, seedtest.Programs(15, 10)
	for i := range programs {
		sc := &script{r: rand.New(rand.NewPCG(seed, uint64(i))), prefix: fmt.Sprintf("p%d/", i), now: time.Now().Unix()}
		var said []string
		for range 60 {
			for _, request := range sc.requests() {
				said = append(said, request)
				asked++
				want := plain(request, theirs.exchange(strings.ReplaceAll(request, "@BASE", o.base)), o.base)
				got := plain(request, ours.exchange(strings.ReplaceAll(request, "@BASE", s.base)), s.base)
				if strings.HasPrefix(want, "-1") && (strings.HasPrefix(request, "SUSPEND") || strings.HasPrefix(request, "RESUME")) { // it disconnects
					theirs = dial(t, o.addr)
				}
				if got != want && !excused(request, got, want) {
					t.Fatalf("program %d, seed %d: %q\ngot  %q\nwant %q\nafter\n%s", i, seed, request, got, want, strings.Join(said, "\n"))
				}
			}
		}
	}
	t.Logf("%d programs, %d requests compared", programs, asked)
}

// TestCreateAsRRDCached asks both to create series in every way that there is.
func TestCreateAsRRDCached(t *testing.T) {
	t.Parallel()
	o := startOriginal(t)
	s := serve(t, rrdcached.Options{}, 0)
	theirs, ours := dial(t, o.addr), dial(t, s.addr)
	const archives = "RRA:AVERAGE:0.5:1:20 RRA:MAX:0.5:6:10"
	requests := []string{
		"CREATE a.rrd -s 10 -b 1000000000 DS:x:GAUGE:20:U:U DS:y:COUNTER:20:0:U " + archives,
		"UPDATE a.rrd 1000000010:1:10 1000000020:2:30 1000000030:3:60 1000000040:4:100 1000000050:5:150 1000000060:6:210 1000000070:7:280 1000000080:8:360",
		"FLUSH a.rrd",
		"CREATE b.rrd -s 10 -b 1000000080 -r a.rrd DS:x:GAUGE:20:U:U " + archives,
		"CREATE c.rrd -b 1000000080 -s 10 -r @BASE/a.rrd DS:z=x:GAUGE:20:U:U DS:y:COUNTER:20:0:U RRA:AVERAGE:0.5:1:20",
		"CREATE d.rrd -t @BASE/a.rrd -b 1000000080 -r a.rrd",
		"CREATE e.rrd -t a.rrd -b 1000000080 -s 20 DS:more:GAUGE:20:U:U RRA:MIN:0.5:1:5",
		"CREATE f.rrd -b 1000000080 -r a.rrd -r b.rrd -s 10 DS:x=x[2]:GAUGE:20:U:U RRA:AVERAGE:0.5:1:20",
		"CREATE g.rrd -b 1000000080 -r a.rrd -s 10 DS:q=nosuch:GAUGE:20:U:U RRA:AVERAGE:0.5:1:20",
		"CREATE a.rrd -O -r a.rrd DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:20",
		"CREATE a.rrd -b 1000000080 -s 10 -r a.rrd DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:20",
		"CREATE a.rrd -r nosuch.rrd DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:20",
		"CREATE a.rrd -r @BASE/nosuch.rrd DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:20",
		"CREATE a.rrd -r ../../../nosuch.rrd DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:20",
		"CREATE a.rrd -t nosuch.rrd", "CREATE a.rrd -t @BASE/nosuch.rrd", "CREATE a.rrd -t /etc/passwd", "CREATE a.rrd -t", "CREATE a.rrd -r",
	}
	for i, start := range []string{"0", "5", "x", "-1", "315359999", "315360000", "315360001", "400000000", "99999999", "1000000000x", "1e9"} {
		requests = append(requests, fmt.Sprintf("CREATE start%d.rrd -b %s -s 10 DS:x:GAUGE:20:U:U RRA:LAST:0:1:2", i, start))
	}
	for i, step := range []string{"0", "x", "10s", "1h", "7", "1.5", "''"} {
		requests = append(requests, fmt.Sprintf("CREATE step%d.rrd -s %s -b 1000000000 DS:x:GAUGE:20:U:U RRA:LAST:0:1:2", i, step))
	}
	for i, rest := range []string{
		"", "-b 1000000000", "DS:x:GAUGE:20:U:U", "RRA:LAST:0:1:2", "RRA:LAST:0:1:2 DS:x:GAUGE:20:U:U -b 1000000000", "-b", "-s", "-q DS:x:GAUGE:20:U:U RRA:LAST:0:1:2",
		"--step 10 DS:x:GAUGE:20:U:U RRA:LAST:0:1:2", "-b1000000000 -s10 DS:x:GAUGE:20:U:U RRA:LAST:0:1:2", "-bx 1000000000 -step 10 -Oh DS:x:GAUGE:20:U:U RRA:LAST:0:1:2",
		"-- DS:x:GAUGE:20:U:U RRA:LAST:0:1:2", "-b 1000000000 -s 10 -s 20 DS:x:GAUGE:2h:U:U RRA:LAST:0:1h:1d", "x DS:x:GAUGE:20:U:U RRA:LAST:0:1:2",
		"-b 1000000000 DS:x:FOO:20:U:U RRA:LAST:0:1:2", "-b 1000000000 DS:x:GAUGE:20:U:U RRA:FOO:0:1:2", "-b 1000000000 DS:x:GAUGE:20:U:U DS:x:GAUGE:20:U:U RRA:LAST:0:1:2",
		"-b 1000000000 DS:x:GAUGE:20:U:U RRA:HWPREDICT:60:0.1:0.0035:12", "-b 1000000000 DS:x:GAUGE:20:U:U RRA:LAST:0:1:2  ",
	} {
		requests = append(requests, fmt.Sprintf("CREATE rest%d.rrd %s", i, rest))
	}
	shown := 0
	both := func(request string) {
		t.Helper()
		want := plain(request, theirs.exchange(strings.ReplaceAll(request, "@BASE", o.base)), o.base)
		if got := plain(request, ours.exchange(strings.ReplaceAll(request, "@BASE", s.base)), s.base); got != want {
			t.Errorf("%q\ngot  %q\nwant %q", request, got, want)
		}
		if strings.HasPrefix(request, "CREATE") && strings.HasPrefix(want, "0 ") {
			shown++
		}
	}
	for _, request := range requests {
		second := settled()
		both(request)
		// What is created without a start depends on the clock. It is created anew, by another
		// name, if the clock went on between the two.
		for time.Now().Unix() != second && strings.Contains(request, ".rrd ") {
			second, request = settled(), strings.Replace(request, "CREATE ", "CREATE again", 1)
			both(request)
		}
		if name := strings.Fields(request)[1]; strings.HasPrefix(request, "CREATE") {
			both("INFO " + name)
			both("FETCH " + name + " AVERAGE 999999990 1000000100")
		}
	}
	if shown < 20 {
		t.Errorf("only %d were created", shown)
	}
}

// settled returns the second that the clock of rrdcached says, too: time of the C library is a few
// milliseconds late, so settled waits for these at the beginning of a second.
func settled() int64 {
	const late = 20 * time.Millisecond
	if into := time.Duration(time.Now().Nanosecond()); into < late {
		time.Sleep(late - into)
	}
	return time.Now().Unix()
}

// excused reports whether an answer may differ, as docs/rrdcached.md says.
func excused(request, got, want string) bool {
	switch {
	case strings.HasPrefix(want, "-1 field ") && strings.HasPrefix(got, "-1 field "):
		return true // rrdcached's text goes on in memory that it has freed
	case want == "-1 No such file or directory\n":
		return got == "0 Gone!\n" // the same
	case strings.HasSuffix(want, " - No such file or directory\n"):
		return strings.HasPrefix(got, "0 ") // rrdcached knows of series that it has in memory
	case strings.HasPrefix(want, "-1 RRD Error: Cannot create temporary file"):
		return strings.HasPrefix(got, "0 ") // a folder where a file is
	}
	return false
}

// exchange sends a request, of several lines if it is a BATCH, and reads the answer; empty:
// disconnected.
func (p *peer) exchange(request string) string {
	p.t.Helper()
	p.send(request + "\n")
	if !strings.HasPrefix(request, "BATCH") {
		return p.answer()
	}
	first := p.answer()
	return first + p.answer()
}
