package rrdtool_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// TestDumpAsOriginal: series of random programs are dumped as rrdtool dumps its files; what rrdtool
// dumps is restored by both, and goes on alike.
func TestDumpAsOriginal(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			r := seedtest.Rand(t)
			o := newOriginal(t)
			s := open(t)
			n := seedtest.Programs(8, 10)
			for i := range n {
				if !dumped(t, o, s, i, &generator{r: rand.New(rand.NewPCG(r.Uint64(), 3))}) {
					return
				}
			}
			t.Logf("%d programs compared", n)
		})
	}
}

func dumped(t *testing.T, o *original, s rrdtool.Store, n int, g *generator) bool {
	t.Helper()
	loc := berlin(t)
	dir := filepath.Join(o.dir, strconv.Itoa(n))
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // the folder of the test goes in any case
	o.pipe([]string{"cd", dir})
	me := &filing{rondo{store: s, dir: strconv.Itoa(n), now: time.Now(), loc: loc}, t.TempDir()}
	var shown strings.Builder
	both := func(args ...string) (string, bool) {
		t.Helper()
		shown.WriteString("rrdtool " + quoted(args) + "\n")
		want := answer{}
		if args[0] == "restore" { // in pipe mode rrdtool remembers -f for what is restored later
			want = o.run(dir, args)
		} else {
			want = o.pipe(args)
		}
		if args[0] == "create" && want.Exit == 0 && len(args) > 2 {
			alignRings(t, filepath.Join(dir, args[1]))
		}
		want, got := comparable(want), comparable(me.run(args))
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("program %d (-rrdtool +rondo):\n%s%s", n, shown.String(), d)
			return "", false
		}
		return want.Stdout, true
	}
	for _, args := range g.program() {
		if args[0] != "create" && !strings.HasPrefix(args[0], "update") || len(args) < 3 {
			continue
		}
		if _, ok := both(args...); !ok {
			return false
		}
	}
	header := g.pick("none", "xsd", "dtd", "other")
	text, ok := both("dump", "a.rrd", "--header", header)
	if !ok {
		return false
	}
	if _, ok = both("dump", "a.rrd", "-h", "none", "-n"); !ok {
		return false
	}
	// To a file, which must hold the same.
	if _, ok = both("dump", "-h"+header, "a.rrd", "out.xml"); !ok {
		return false
	}
	for _, d := range []string{dir, me.files} {
		if b, err := os.ReadFile(filepath.Join(d, "out.xml")); err != nil || string(b) != text {
			t.Errorf("dump into a file: %v, %d bytes, not %d", err, len(b), len(text))
			return false
		}
	}
	if _, ok = both("restore", "out.xml", "a.rrd"); !ok {
		return false
	}
	if _, ok = both("restore", "-f", "out.xml", "a.rrd"); !ok {
		return false
	}
	turnRings(t, filepath.Join(dir, "a.rrd"))
	for range 15 {
		args := g.command()
		if args[0] != "update" {
			continue
		}
		if _, ok = both(args...); !ok {
			return false
		}
	}
	_, ok = both("dump", "a.rrd")
	if ok {
		_, ok = both("info", "a.rrd")
	}
	return ok
}

// filing is rondo with files.
type filing struct {
	rondo
	files string
}

func (r *filing) run(args []string) answer {
	var out, errs bytes.Buffer
	env := &rrdtool.Env{
		Store: r.store, Dir: r.dir, Stdout: &out, Stderr: &errs, Location: r.loc,
		Now: func() time.Time { return r.now }, Files: folder{dir: r.files},
	}
	code := rrdtool.Run(context.Background(), env, args)
	return answer{out.String(), errs.String(), code}
}

// turnRings lets the rings of a file begin at row 0.
func turnRings(t *testing.T, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := rrdfile.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.State.Archives {
		f.State.Archives[i].CurRow = 0
	}
	b, err = f.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
