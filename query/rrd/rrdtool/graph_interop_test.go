package rrdtool_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// files are those below a folder.
type files string

func (f files) Stat(name string) (fs.FileInfo, error)      { return os.Stat(f.path(name)) }
func (f files) Open(name string) (io.ReadCloser, error)    { return os.Open(f.path(name)) }
func (f files) Create(name string) (io.WriteCloser, error) { return os.Create(f.path(name)) }
func (f files) path(name string) string                    { return filepath.Join(string(f), name) }

// overLimits are in the errors of graphs that rondo refuses because of their size, and rrdtool draws.
var overLimits = []string{"more than 4194304 rows", "takes too long for so many rows", "the data are more than 256 MiB"}

// TestGraphAsOriginal runs random graph commands through rrdtool and Run: what they print, with the
// places and the numbers of graphv, and how they end.
func TestGraphAsOriginal(t *testing.T) { seedtest.Each(t, graphAsOriginal) }

func graphAsOriginal(t *testing.T) {
	r := seedtest.Rand(t)
	o := newOriginal(t)
	n, failed, crashed, exported := seedtest.Programs(30, 2), 0, 0, 0
	reached := map[string]int{}
	var g *graphGenerator
	var me *rondo
	folder, mine := "", ""
	for i := range n {
		if i%20 == 0 {
			g = &graphGenerator{xportGenerator: xportGenerator{r: rand.New(rand.NewPCG(r.Uint64(), 5))}, reached: reached}
			folder, mine = filepath.Join(o.dir, fmt.Sprint(i)), t.TempDir()
			if err := os.Mkdir(folder, 0o777); err != nil {
				t.Fatal(err)
			}
			me = &rondo{store: newMemory(), now: time.Now(), loc: berlin(t)}
			for _, args := range g.files() {
				if want, got := o.run(folder, args), me.run(args); want.Exit != 0 || got.Exit != 0 {
					t.Fatalf("%s: %v, %v", quoted(args), want, got)
				}
			}
		}
		args := g.graph()
		if g.lazy {
			g.before(t, folder, mine)
		}
		me.now = time.Now()
		want, got := o.runFor(3*time.Second, folder, args), me.draw(files(mine), args)
		switch {
		case want.Exit == -1, slices.ContainsFunc(overLimits, func(text string) bool { return strings.Contains(got.Stderr, text) }):
			crashed++ // or takes memory that Run does not
			// A later graph may look at the picture.
			for _, f := range []string{folder, mine} {
				if err := os.RemoveAll(filepath.Join(f, "o.png")); err != nil {
					t.Fatal(err)
				}
			}
			continue
		case want.Exit == 1:
			failed++
			g.reach("error: " + errorWords(want.Stderr))
		}
		if d := cmp.Diff(numbers(want), numbers(got)); d != "" {
			t.Errorf("program %d (-rrdtool +rondo):\ncd %s\nrrdtool %s\n%s", i, folder, quoted(args), d)
			return
		}
		if !strings.Contains(want.Stdout, "graph_step") {
			continue
		}
		exported++
		if d := cmp.Diff(exportedTo(t, folder, args[1]), exportedTo(t, mine, args[1])); d != "" {
			t.Errorf("program %d, data (-rrdtool +rondo):\ncd %s\nrrdtool %s\n%s", i, folder, quoted(args), d)
			return
		}
	}
	t.Logf("%d commands compared; %d failed alike and %d wrote data; rrdtool crashed at %d", n, failed, exported, crashed)
	for _, what := range slices.Sorted(maps.Keys(reached)) {
		t.Logf("%6d %s", reached[what], what)
	}
}

// errorWords are the first words of an error, without what differs from one to the next.
func errorWords(text string) string {
	words := strings.Fields(strings.TrimPrefix(oops.ReplaceAllString(text, ""), "ERROR: "))
	for i, w := range words {
		if strings.ContainsAny(w, "0123456789'\"") {
			words[i] = "…"
		}
	}
	return strings.Join(words[:min(len(words), 6)], " ")
}

// before puts a picture, or something else, to where the next one goes, older or newer than any
// graph may be to be drawn anew.
func (g *graphGenerator) before(t *testing.T, folders ...string) {
	t.Helper()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 3+g.r.IntN(500), 3+g.r.IntN(500)))); err != nil {
		t.Fatal(err)
	}
	content := g.pick(picture.String(), picture.String(), "no picture", "")
	at := time.Now().Add(time.Hour)
	if g.one(3) {
		at = time.Unix(100_000_000, 0)
	}
	for _, folder := range folders {
		name := filepath.Join(folder, "o.png")
		if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

// exportedTo is what a graph has written in a data format.
func exportedTo(t *testing.T, folder, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "-nan", "nan")
}

// runFor runs a command in a process of its own, which is killed if it takes too long: some grids
// have more lines than rrdtool ever comes to the end of.
func (o *original) runFor(most time.Duration, dir string, args []string) answer {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	cmd := exec.CommandContext(ctx, o.path, args...)
	cmd.Dir, cmd.Env = dir, o.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil { // perhaps before it began: the machine is busy
		return answer{Exit: -1}
	}
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		o.t.Fatal(err)
	}
	return answer{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

func (r *rondo) draw(f rrdtool.Files, args []string) answer {
	var out, errs bytes.Buffer
	env := &rrdtool.Env{
		Store: r.store, Dir: r.dir, Stdout: &out, Stderr: &errs, Location: r.loc, Files: f,
		Now: func() time.Time { return r.now },
	}
	code := rrdtool.Run(context.Background(), env, args)
	return answer{out.String(), errs.String(), code}
}

// oops is what rrdtool's drawing library says of itself.
var oops = regexp.MustCompile(`(?m)^OOPS: .*\n|^libpng error: .*\n|^\n?\(process.*Pango.*\n`)

// numbers leaves out what cannot be compared: the sign of what is unknown, and remarks of
// rrdtool's libraries.
func numbers(a answer) answer {
	a.Stdout = strings.ReplaceAll(a.Stdout, "-nan", "nan")
	a.Stderr = oops.ReplaceAllString(a.Stderr, "")
	return a
}
