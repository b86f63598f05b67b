package rrdtool_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// An answer is what a command says and how it ends.
type answer struct {
	Stdout, Stderr string
	Exit           int
}

// original runs commands with the installed rrdtool in a folder of its own.
type original struct {
	t       testing.TB
	path    string
	dir     string
	env     []string
	running *rrdtooltest.Pipe
}

func newOriginal(t testing.TB) *original {
	t.Helper()
	p := rrdtooltest.Peer(t, "rrdtool")
	o := &original{t: t, path: p, dir: t.TempDir()}
	o.env = []string{"TZ=Europe/Berlin", "LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	o.running = rrdtooltest.StartPipe(t, p, "", o.env)
	return o
}

// run runs a command in a process of its own, in the folder dir.
func (o *original) run(dir string, args []string) answer {
	o.t.Helper()
	cmd := exec.Command(o.path, args...)
	cmd.Dir, cmd.Env = dir, o.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		o.t.Fatal(err)
	}
	return answer{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// pipe runs a command in pipe mode, which is a hundred times faster. It distinguishes success and
// failure, and has no stderr.
func (o *original) pipe(args []string) answer {
	o.t.Helper()
	out, err := o.running.Ask(quoted(args))
	if err != nil {
		return answer{Stdout: out, Stderr: "ERROR: " + err.Error() + "\n", Exit: 1}
	}
	return answer{Stdout: out}
}

// rondo runs commands with Run.
type rondo struct {
	store rrdtool.Store
	dir   string
	now   time.Time
	loc   *time.Location
}

func (r *rondo) run(args []string) answer {
	var out, errs bytes.Buffer
	env := &rrdtool.Env{
		Store: r.store, Dir: r.dir, Stdout: &out, Stderr: &errs, Location: r.loc,
		Now: func() time.Time { return r.now }, Rondo: true,
	}
	code := rrdtool.Run(context.Background(), env, args)
	return answer{out.String(), errs.String(), code}
}

var (
	nan   = regexp.MustCompile(`-?\bnan\b`)
	about = regexp.MustCompile(`^RRDtool 1`)
)

// comparable takes out what may differ: the sign of NaN, and rrdtool's usage text.
func comparable(a answer) answer {
	a.Stdout = nan.ReplaceAllString(a.Stdout, "nan")
	if about.MatchString(a.Stdout) || strings.Contains(a.Stdout, "usage: rondo") || strings.Contains(a.Stdout, "Usage: rrdtool") {
		a.Stdout = "usage"
	}
	return a
}

// stores are those that programs run on.
var stores = map[string]func(t testing.TB) rrdtool.Store{
	"memory": func(testing.TB) rrdtool.Store { return newMemory() },
	"engine": func(t testing.TB) rrdtool.Store { return enginetest.Open(t) },
}

// TestProgramsAsOriginal runs random command lines through rrdtool and Run.
func TestProgramsAsOriginal(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			r := seedtest.Rand(t)
			o := newOriginal(t)
			s := open(t)
			n := seedtest.Programs(40, 1)
			for i := range n {
				if e, ok := s.(*core.Store); ok && i%20 == 10 {
					if err := e.Checkpoint(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				g := &generator{r: rand.New(rand.NewPCG(r.Uint64(), 3))}
				program := g.program()
				compare(t, o, s, i, program)
				if t.Failed() {
					return
				}
			}
			t.Logf("%d programs compared", n)
		})
	}
}

// compare runs a program through both; every tenth in processes of their own.
func compare(t *testing.T, o *original, s rrdtool.Store, n int, program [][]string) {
	t.Helper()
	loc := berlin(t)
	dir := filepath.Join(o.dir, strconv.Itoa(n))
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	o.pipe([]string{"cd", dir})
	var shown strings.Builder
	for _, args := range program {
		fmt.Fprintf(&shown, "rrdtool %s\n", quoted(args))
		piped := n%10 != 0 && args[0] != "list" && len(args) > 1
		var want answer
		if piped {
			want = o.pipe(args)
		} else {
			want = o.run(dir, args)
		}
		if args[0] == "create" && want.Exit == 0 && len(args) > 2 {
			alignRings(t, filepath.Join(dir, args[1]))
		}
		me := &rondo{store: s, dir: strconv.Itoa(n), now: time.Now(), loc: loc}
		got := me.run(args)
		if args[0] == "list" { // rrdtool has no order
			want.Stdout = strings.Join(slices.Sorted(strings.Lines(want.Stdout)), "")
		}
		got, want = comparable(got), comparable(want)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("program %d (-rrdtool +rondo):\n%s%s", n, shown.String(), d)
			return
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}

// alignRings lets the rings of a new file begin at row 0, as rondo's do. rrdtool
// begins them at a random row, by which it smooths SEASONAL archives later.
func alignRings(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sources, archives := binary.LittleEndian.Uint64(b[24:]), binary.LittleEndian.Uint64(b[32:])
	header := 144 + 232*sources + 128*archives + 80*sources*archives
	clear(b[header-8*archives : header])
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

func quoted(args []string) string {
	var out []string
	for _, a := range args {
		if strings.ContainsAny(a, " *,()[]$;&|<>'\"\\") || a == "" {
			a = "'" + a + "'"
		}
		out = append(out, a)
	}
	return strings.Join(out, " ")
}

// berlin is the zone that the original runs in.
func berlin(t *testing.T) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		rrdtooltest.Lacks(t, "no time zone: ", err)
	}
	return loc
}
