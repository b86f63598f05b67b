package original

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// A mover compares files of rrdtool with the series that rondo makes of them.
type mover struct {
	t     *testing.T
	r     *rand.Rand
	dir   string
	shown strings.Builder
}

// run runs rrdtool, or rondo, in a folder below the test's, and returns what it prints.
func (m *mover) run(program, dir string, args ...string) string {
	m.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = filepath.Join(m.dir, dir)
	cmd.Env = append(os.Environ(), "TZ=Europe/Berlin", "LC_ALL=C", "RONDO_DB="+filepath.Join(m.dir, "db"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		m.t.Fatalf("%s %q: %v\n%s%s", program, args, err, errs.String(), m.shown.String())
	}
	return out.String()
}

// define makes the arguments of create.
func (m *mover) define(start int64) []string {
	r := m.r
	args := []string{"-s", "10", "-b", strconv.FormatInt(start, 10), "DS:a:GAUGE:25:U:" + []string{"U", "900"}[r.IntN(2)]}
	args = append(args, []string{"DS:b:COUNTER:30:0:U", "DS:b:DERIVE:30:U:U", "DS:b:DDERIVE:20:U:U", "DS:b:ABSOLUTE:60:U:U"}[r.IntN(4)])
	for range 1 + r.IntN(5) {
		args = append(args, fmt.Sprintf("RRA:%s:0.%d:%d:%d", []string{"AVERAGE", "MIN", "MAX", "LAST"}[r.IntN(4)], r.IntN(9), 1+r.IntN(3)*r.IntN(5), 1+r.IntN(300)))
	}
	if r.IntN(3) == 0 {
		args = append(args, fmt.Sprintf("RRA:%sHWPREDICT:%d:0.1:0.01:%d", []string{"", "M"}[r.IntN(2)], 40+r.IntN(60), 5+r.IntN(20)))
	}
	return args
}

// samples makes the arguments of update, and the time of the last.
func (m *mover) samples(at int64) ([]string, int64) {
	r := m.r
	var args []string
	for range 1 + r.IntN(200) {
		at += []int64{10, 10, 10, 7, 23, 400}[r.IntN(6)]
		v := strconv.FormatFloat(r.Float64()*1000, 'g', 6, 64)
		if r.IntN(12) == 0 {
			v = "U"
		}
		args = append(args, fmt.Sprintf("%d:%s:%d", at, v, at*int64(1+r.IntN(3))))
	}
	return args, at
}

// same compares what both say of every series.
func (m *mover) same(names []string, start, end int64) bool {
	m.t.Helper()
	ok := true
	for _, name := range names {
		questions := [][]string{{"dump", name}, {"info", name}, {"lastupdate", name}}
		for _, cf := range []string{"AVERAGE", "MIN", "MAX", "LAST"} {
			for _, resolution := range []string{"1", "50", "100"} {
				if strings.Contains(m.run("rrdtool", "files", "info", name), `cf = "`+cf+`"`) {
					questions = append(questions, []string{"fetch", name, cf, "-r", resolution, "-s", fmt.Sprint(start), "-e", fmt.Sprint(end)})
				}
			}
		}
		for _, args := range questions {
			want, got := m.run("rrdtool", "files", args...), m.run("rondo", ".", append([]string{"rrdtool"}, args...)...)
			want = strings.ReplaceAll(strings.ReplaceAll(want, "-nan", "nan"), "nan", "-nan")
			if d := cmp.Diff(want, strings.ReplaceAll(strings.ReplaceAll(got, "-nan", "nan"), "nan", "-nan")); d != "" {
				m.t.Errorf("%q (-rrdtool +rondo):\n%s\n%s", args, d, m.shown.String())
				ok = false
			}
		}
	}
	return ok
}

// TestTransferInterop: files that rrdtool made are imported, and say and do the same as before;
// they are exported, and rrdtool goes on with them as with its own.
func TestTransferInterop(t *testing.T) {
	rrdtooltest.Need(t, "rrdtool")
	r := seedtest.Rand(t)
	for i := range seedtest.Programs(1, 50) {
		m := &mover{t: t, r: rand.New(rand.NewPCG(r.Uint64(), uint64(i))), dir: t.TempDir()}
		if !m.moved(i%2 == 1) {
			return
		}
	}
}

func (m *mover) moved(served bool) bool {
	if err := os.MkdirAll(filepath.Join(m.dir, "files", "web"), 0o777); err != nil {
		m.t.Fatal(err)
	}
	const start = 1_500_000_000
	names := []string{"a.rrd", "web/b.rrd", "web/c.rrd"}
	last := make([]int64, len(names))
	for i, name := range names {
		args := m.define(start)
		fmt.Fprintf(&m.shown, "create %s %q\n", name, args)
		m.run("rrdtool", "files", append([]string{"create", name}, args...)...)
		var samples []string
		samples, last[i] = m.samples(start)
		m.run("rrdtool", "files", append([]string{"update", name}, samples...)...)
	}
	if served {
		rondotest.Serve(m.t, filepath.Join(m.dir, "db"))
	}
	m.run("rondo", ".", "import", "files")
	end := start + int64(90_000)
	if !m.same(names, start-4000, end) {
		return false
	}
	// Both go on.
	for i, name := range names {
		var samples []string
		samples, last[i] = m.samples(last[i])
		m.run("rrdtool", "files", append([]string{"update", name}, samples...)...)
		m.run("rondo", ".", append([]string{"update", name}, samples...)...)
	}
	if !m.same(names, start-4000, end) {
		return false
	}
	// rrdtool goes on with both.
	m.run("rondo", ".", "export", "--to", "out")
	for i, name := range names {
		samples, _ := m.samples(last[i])
		for _, dir := range []string{"files", "out"} {
			m.run("rrdtool", dir, append([]string{"update", name}, samples...)...)
		}
		for _, verb := range []string{"dump", "info"} {
			if d := cmp.Diff(m.run("rrdtool", "files", verb, name), m.run("rrdtool", "out", verb, name)); d != "" {
				m.t.Errorf("%s %s (-own +exported):\n%s\n%s", verb, name, d, m.shown.String())
				return false
			}
		}
	}
	return true
}
