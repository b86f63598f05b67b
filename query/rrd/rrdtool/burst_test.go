package rrdtool_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// oneByOne hides that a store takes the samples of many commands at once.
type oneByOne struct{ rrdtool.Store }

// counting counts what is stored at once.
type counting struct {
	*core.Store
	appends, samples int
	before           func(n int) // called before append n, from 1
}

func (c *counting) Append(ctx context.Context, b *core.Batch) error {
	c.appends++
	c.samples += b.Len()
	if c.before != nil {
		c.before(c.appends)
	}
	return c.Store.Append(ctx, b)
}

// piped is what pipe mode answers, without times.
func piped(t *testing.T, store rrdtool.Store, in io.Reader) string {
	t.Helper()
	var out, errs bytes.Buffer
	env := &rrdtool.Env{Store: store, Rondo: true, Stdout: &out, Stderr: &errs, Now: func() time.Time { return time.Unix(1_000_000_500, 0) }, Location: time.UTC}
	if code := rrdtool.Pipe(t.Context(), env, in); code != 0 || errs.Len() > 0 {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	return strings.Join(pipeAnswers(out.String()), "\n")
}

// TestPipeGroups gives random lines to pipe mode over a store that takes groups, and over one that
// takes single commands: both must answer the same, and hold the same in the end.
func TestPipeGroups(t *testing.T) {
	seed, n := seedtest.One(t), seedtest.Programs(12, 5)
	grouped := 0
	for i := range n {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		script := groupScript(r)
		many := &counting{Store: enginetest.Open(t)}
		got := piped(t, many, strings.NewReader(script))
		want := piped(t, oneByOne{enginetest.Open(t)}, strings.NewReader(script))
		if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); d != "" {
			t.Fatalf("program %d (-one by one +grouped):\n%s\n%s", i, script, d)
		}
		grouped += many.samples
	}
	if grouped < 5*n {
		t.Errorf("%d samples of %d programs were stored in groups", grouped, n)
	}
}

// groupScript makes series, updates of every kind, and dumps of all in the end.
func groupScript(r *rand.Rand) string {
	const (
		archives  = " RRA:AVERAGE:0.5:1:10 RRA:MAX:0.5:3:10"
		seasons   = " RRA:AVERAGE:0.5:1:20 RRA:HWPREDICT:20:0.1:0.01:4:3 RRA:SEASONAL:4:0.1:2 RRA:DEVSEASONAL:4:0.1:2 RRA:DEVPREDICT:20:4 RRA:FAILURES:10:2:3:4"
		beginning = " --start 1000000000 --step 10"
	)
	creates := []string{
		"create a.rrd" + beginning + " DS:v:GAUGE:20:U:U" + archives,
		"create b.rrd" + beginning + " DS:x:COUNTER:20:U:U DS:sum:COMPUTE:x,y,+ DS:y:GAUGE:20:0:100 DS:z:DERIVE:20:U:U" + archives,
		"create d/c" + beginning + " DS:v:ABSOLUTE:20:U:U" + seasons,
	}
	var b strings.Builder
	for _, c := range creates {
		b.WriteString(c + "\n")
	}
	at := int64(1_000_000_000)
	value := func() string {
		return oneOf(r, "1", "17", "0.25", "U", "-3", "1.50", "1e3", "18446744073709551615", "007", "12345678901234567890123456789012345678901234567", "", "nan", "x", "5@", "-0", "+4", "1.5.5")
	}
	plain := func() string { return strconv.Itoa(r.IntN(1000)) }
	when := func() string {
		at += int64(r.IntN(12))
		switch r.IntN(20) {
		case 0:
			return strconv.FormatInt(at-int64(r.IntN(40)), 10)
		case 1:
			return oneOf(r, "", "x", "1e9", "-5", "100000000000", "99999999999", "0", "+5", fmt.Sprintf("%d.5", at), fmt.Sprintf("%d@", at))
		}
		return strconv.FormatInt(at, 10)
	}
	sample := func(n int) string {
		var text strings.Builder
		text.WriteString(when())
		for range n {
			if v := plain(); r.IntN(8) == 0 {
				text.WriteString(":" + value())
			} else {
				text.WriteString(":" + v)
			}
		}
		return text.String()
	}
	for range 60 {
		line := "update "
		fields := 1
		name := oneOf(r, "a.rrd", "a.rrd", "a", "./a.rrd", "'a.rrd'", "b.rrd", "b.rrd", "/b", "d/c", "d/c.rrd", "none.rrd", "-a", `a\`)
		if strings.Contains(name, "b") {
			fields = 3
		}
		switch r.IntN(12) {
		case 0, 1:
			template := oneOf(r, "v", "x:y", "z:x", "sum:x", "x:x", "q", "", "z")
			fields = strings.Count(template, ":") + 1
			switch o := oneOf(r, "-t ", "--template ", "--template=", "-t"); r.IntN(3) {
			case 0:
				line += o + template + " " + name
			case 1:
				line += name + " " + o + template
			default:
				line += name + " " + sample(fields) + " " + o + template
			}
		case 2:
			line += oneOf(r, "-s ", "--skip-past-updates ", "-x ", " ", "-- ") + name
		default:
			line += name
		}
		switch r.IntN(30) {
		case 0:
			line = oneOf(r, "last a.rrd", "info b.rrd", "lastupdate d/c", "cd d", "cd ..", "ls", "flushcached a.rrd", "updatev a.rrd "+sample(1))
		case 1:
			line = oneOf(r, creates...)
		case 2:
			line = oneOf(r, "tune a.rrd --heartbeat v:15", "tune b.rrd --data-source-rename z:w", "tune b.rrd --data-source-rename w:z", "alter a.rrd --step 5", "resize a.rrd 0 GROW 5")
		case 3:
			line += " N:1" // late or in the future of all others
		default:
			for range 1 + r.IntN(3)/2*r.IntN(4) {
				line += " " + sample(fields+r.IntN(12)/11)
			}
		}
		b.WriteString(line + oneOf(r, "\n", "\n", "\n", "\n", "\r\n", " \n", "\t\n"))
	}
	b.WriteString("cd /\nlist -r /\ndump /a.rrd\ndump /b.rrd\ndump /d/c\nlastupdate /a\nlastupdate /b\nlastupdate /d/c\n")
	return b.String()
}

const createA = "create a.rrd --start 1000000000 --step 10 DS:v:GAUGE:20:U:U RRA:AVERAGE:0.5:1:10\n"

// TestPipeOneBatch: what arrives together is stored together, and an error belongs to its own line.
func TestPipeOneBatch(t *testing.T) {
	store := &counting{Store: enginetest.Open(t)}
	if got := piped(t, store, strings.NewReader(createA)); got != "OK\n" {
		t.Fatal(got)
	}
	got := piped(t, store, strings.NewReader("update a.rrd 1000000010:1\nupdate a 1000000010:2\nupdate a.rrd 1000000020:3 1000000030:4\nupdate a.rrd 1000000025:9 1000000040:5\nupdate a.rrd 1000000050:U\n"))
	want := "OK\nERROR: a: illegal attempt to update using time 1000000010 when last update time is 1000000010 (minimum one second step)\nOK\n" +
		"ERROR: a.rrd: illegal attempt to update using time 1000000025 when last update time is 1000000030 (minimum one second step)\nOK\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if store.appends != 1 {
		t.Errorf("stored in %d batches, want 1", store.appends)
	}
	if got, want := piped(t, store, strings.NewReader("lastupdate a.rrd")), " v\n\n1000000050: U\nOK\n"; got != want {
		t.Errorf("last update is %q, want %q", got, want)
	}
}

// TestPipeAnswersAtOnce: a client that waits for each answer gets it, also when the beginning of
// its next line has arrived.
func TestPipeAnswersAtOnce(t *testing.T) {
	in, send := io.Pipe()
	receive, out := io.Pipe()
	env := &rrdtool.Env{Store: enginetest.Open(t), Stdout: out, Stderr: io.Discard}
	done := make(chan int, 1)
	go func() { done <- rrdtool.Pipe(t.Context(), env, in) }()
	answers := bufio.NewScanner(receive)
	for _, text := range []string{createA, "update a.rrd 1000000010:1\nupd", "ate a.rrd 1000000020:1\n", "update a.rrd 1000000030:1\n"} {
		if _, err := io.WriteString(send, text); err != nil {
			t.Fatal(err)
		}
		if !answers.Scan() || !strings.HasPrefix(answers.Text(), "OK ") {
			t.Fatalf("after %q: %q, %v", text, answers.Text(), answers.Err())
		}
	}
	if err := send.Close(); err != nil {
		t.Fatal(err)
	}
	if code := <-done; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A chunked is input that arrives in pieces; between is called before piece i is given out.
type chunked struct {
	chunks  []string
	given   int
	between func(i int)
}

func (c *chunked) Read(p []byte) (int, error) {
	if c.given == len(c.chunks) {
		return 0, io.EOF
	}
	if c.between != nil {
		c.between(c.given)
	}
	c.given++
	return copy(p, c.chunks[c.given-1]), nil
}

// TestPipeOtherClients: series that others replace, rename or remove meanwhile are found as they
// are then.
func TestPipeOtherClients(t *testing.T) {
	store := &counting{Store: enginetest.Open(t)}
	spec := func(path string) core.Spec {
		ref, err := store.Lookup("a")
		if err != nil {
			t.Fatal(err)
		}
		s, err := store.Series(ref)
		if err != nil {
			t.Fatal(err)
		}
		return core.Spec{Path: path, Definition: s.Definition, Start: 1_000_000_000e6, Overwrite: true}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	store.before = func(n int) { // between reading and storing
		switch n {
		case 2:
			_, err := store.Create(ctx, spec("a"))
			must(err)
		case 5:
			must(core.Drop(ctx, store, "a"))
		}
	}
	between := func(i int) {
		if i == 3 {
			_, err := store.Create(ctx, spec("other"))
			must(err)
			must(store.Rename(ctx, "a", "was"))
			must(store.Rename(ctx, "other", "a"))
		}
	}
	chunks := []string{
		createA + "update a.rrd 1000000100:1\n",
		"update a.rrd 1000000050:2\nupdate a.rrd 1000000060:2\n", // of the new series; not late
		"update a.rrd 1000000070:3\n",
		"update a.rrd 1000000020:3\n",                            // of one that was called other
		"update a.rrd 1000000080:3\nupdate a.rrd 1000000090:3\n", // gone
	}
	got := piped(t, store, &chunked{chunks: chunks, between: between})
	want := "OK\nOK\nOK\nOK\nOK\nOK\nERROR: opening 'a.rrd': No such file or directory\nERROR: opening 'a.rrd': No such file or directory\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
