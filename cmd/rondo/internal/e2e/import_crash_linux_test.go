package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/rra"
)

// A pile is native files, and what they hold.
type pile struct {
	dir   string
	files map[string][]byte // by the path of the series
	bytes int64
}

// newPile makes n files of 8 kB.
func newPile(t *testing.T, r *rand.Rand, n int) *pile {
	t.Helper()
	p := &pile{dir: t.TempDir(), files: make(map[string][]byte)}
	d, err := rra.ParseDefinition(10, []string{"DS:a:GAUGE:20:U:U", "DS:b:DERIVE:20:U:U", "RRA:AVERAGE:0.5:1:200", "RRA:MAX:0.5:1:100", "RRA:AVERAGE:0.5:6:150"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := rra.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		state := m.NewState(rra.Seconds(1_700_000_000 + int64(r.IntN(1e6))))
		rows := make([][]float64, len(d.Archives))
		for j := range rows {
			rows[j] = make([]float64, int(d.Archives[j].Rows)*len(d.Sources))
			for k := range rows[j] {
				if rows[j][k] = r.NormFloat64(); r.IntN(50) == 0 {
					rows[j][k] = math.NaN()
				}
			}
		}
		rows[1] = rows[0][len(rows[0])-len(rows[1]):]
		f, err := rrdfile.New(m, &state, rows)
		if err != nil {
			t.Fatal(err)
		}
		b, err := f.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		path := fmt.Sprintf("h%d/s%d.rrd", i%7, i)
		name := filepath.Join(p.dir, path)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		p.files[path] = b
		p.bytes += int64(len(b))
	}
	return p
}

// hasRead returns how many bytes a process has read.
func hasRead(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return math.MaxInt64 // it has ended
	}
	first, _, _ := strings.Cut(string(b), "\n")
	n, err := strconv.ParseInt(strings.TrimPrefix(first, "rchar: "), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// importing starts an import of p, and returns once the process pid, or itself where it is 0, has
// read that part of the files.
func (p *pile) importing(t *testing.T, db string, part float64, pid int) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command("rondo", "import", "--db", db, p.dir)
	out := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if pid == 0 {
		pid = cmd.Process.Pid
	}
	most := hasRead(t, pid) + int64(part*float64(p.bytes))
	for deadline := time.Now().Add(rondotest.Patience); hasRead(t, pid) < most; time.Sleep(200 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the import does not get on: %s", out)
		}
	}
	return cmd, out
}

// whole imports p again, and says that every series is there once, and is its file.
func (p *pile) whole(t *testing.T, db string) {
	t.Helper()
	count := func() (imported, skipped int) {
		out, err := exec.Command("rondo", "import", "--db", db, p.dir).CombinedOutput()
		if err != nil {
			t.Fatalf("import: %v\n%s", err, out)
		}
		var of int
		last := out[bytes.LastIndexByte(bytes.TrimSpace(out), '\n')+1:]
		if _, err := fmt.Sscanf(string(last), "%d of %d files imported, %d skipped", &imported, &of, &skipped); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return imported, skipped
	}
	imported, skipped := count()
	if imported+skipped != len(p.files) {
		t.Errorf("%d imported, %d skipped, of %d", imported, skipped, len(p.files))
	}
	t.Logf("%d were there, %d were not", skipped, imported)
	if imported, skipped := count(); imported != 0 || skipped != len(p.files) {
		t.Errorf("again: %d imported, %d skipped", imported, skipped)
	}
	to := t.TempDir()
	// A server has series of its own beside them.
	if out, err := exec.Command("rondo", "export", "h", "--db", db, "--to", to).CombinedOutput(); err != nil {
		t.Fatalf("export: %v\n%s", err, out)
	}
	n := 0
	err := filepath.WalkDir(to, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		n++
		inside, err := filepath.Rel(to, name)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(name)
		if want := p.files[inside]; !bytes.Equal(b, want) {
			t.Errorf("%s: %d bytes, of %d, or others", inside, len(b), len(want))
		}
		return err
	})
	if err != nil || n != len(p.files) {
		t.Errorf("%d files exported, of %d: %v", n, len(p.files), err)
	}
}

// TestImportKilled ends an import, or the server that it goes to, by SIGKILL and SIGINT, and does
// it again.
func TestImportKilled(t *testing.T) {
	t.Parallel()
	r := seedtest.Rand(t)
	p := newPile(t, r, 400)
	t.Run("import", func(t *testing.T) {
		db := filepath.Join(t.TempDir(), "db")
		cmd, _ := p.importing(t, db, r.Float64(), 0)
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		p.whole(t, db)
	})
	t.Run("interrupted", func(t *testing.T) {
		db := filepath.Join(t.TempDir(), "db")
		cmd, out := p.importing(t, db, r.Float64()/2, 0)
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		err := cmd.Wait()
		if strings.Contains(out.String(), "400 of 400 files imported") {
			t.Log("it was done before") // at times, on a busy machine
		} else if code := cmd.ProcessState.ExitCode(); code != cli.ExitStopped || !strings.Contains(out.String(), "stopped; run again") ||
			!strings.Contains(out.String(), "of 400 files imported, 0 skipped, 0 failed\n") {
			t.Errorf("%v: %s", err, out)
		}
		p.whole(t, db)
	})
	t.Run("client", func(t *testing.T) {
		db := filepath.Join(t.TempDir(), "db")
		rondotest.Serve(t, db)
		cmd, _ := p.importing(t, db, r.Float64(), 0)
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		p.whole(t, db)
	})
	t.Run("server", func(t *testing.T) {
		db := filepath.Join(t.TempDir(), "db")
		server := rondotest.Serve(t, db)
		cmd, out := p.importing(t, db, r.Float64()*0.9, server.Cmd.Process.Pid)
		if err := server.Cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		if strings.Contains(out.String(), "400 of 400 files imported") {
			t.Log("it was done before")
		} else if err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(out.String(), "ERROR: ") {
			t.Errorf("without its server: %v: %s", err, out)
		}
		p.whole(t, db)
	})
}
