package contrib_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/localcluster"
)

// The folders of the modules.
const (
	perlFolder   = "perl"
	pythonFolder = "python"
)

// patience is how long a test waits for what must happen.
const patience = 60 * time.Second

// program builds rondo once for all tests.
var program = sync.OnceValues(func() (string, error) {
	return localcluster.BuildRondo(folder)
})

// folder holds what is built.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "contrib"); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := os.RemoveAll(folder); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// environment is the environment of programs that find the modules and rondo, with a database in
// dir.
func environment(t *testing.T, dir string, more ...string) []string {
	t.Helper()
	rondo, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return append(bare(
		"RONDO="+rondo, "RONDO_DB="+filepath.Join(dir, "rondo.db"),
		"PERL5LIB="+absolute(t, perlFolder), "PYTHONPATH="+absolute(t, pythonFolder)), more...)
}

// bare is an environment without anything of rondo's, or of a person's.
func bare(more ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "HOME=" + os.Getenv("HOME"), "TZ=Europe/Berlin", "LC_ALL=C", "PYTHONDONTWRITEBYTECODE=1",
	}, more...)
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	name, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// rondo runs rondo on the database of dir and returns what it prints.
func rondo(t *testing.T, dir string, args ...string) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = environment(t, dir)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("rondo %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return string(out)
}

// serve starts a server on the database of dir, which ends with the test, and returns its log so
// far.
func serve(t *testing.T, dir string, args ...string) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"serve", "--http=", "--collectd=", "--gmetric=", "--mono=", "--rrdcached="}, args...)
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Dir = environment(t, dir), dir
	in, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(in)
	var log strings.Builder
	for lines.Scan() {
		log.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "msg=ready") {
			break
		}
	}
	if !strings.Contains(log.String(), "msg=ready") {
		t.Fatalf("no server: %v\n%s", cmd.Wait(), log.String())
	}
	rest := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, in) // until it ends
		close(rest)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		<-rest
		_ = cmd.Wait() // likewise
	})
	return log.String()
}

// waitFor waits until done is true.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

// A driver is a program that calls a module's functions.
type driver struct {
	t    *testing.T
	name string
	in   io.WriteCloser
	out  *bufio.Scanner
	errs bytes.Buffer
}

// A result is what a call gives.
type result struct {
	Got   any    `json:"got"`
	Error string `json:"error"`
}

// drive starts a driver in dir, which ends with the test.
func drive(t *testing.T, name, dir string, env []string, args ...string) *driver {
	t.Helper()
	d := &driver{t: t, name: name}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, env, &d.errs
	var err error
	if d.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.out = bufio.NewScanner(out)
	d.out.Buffer(nil, 64<<20)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.in.Close() // it may have ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d.errs.Len() > 0 && t.Failed() {
			t.Logf("%s: %s", name, d.errs.String())
		}
	})
	return d
}

// call calls a function; the first word is its name.
func (d *driver) call(words []string) result {
	d.t.Helper()
	line, err := json.Marshal(words)
	if err == nil {
		_, err = d.in.Write(append(line, '\n'))
	}
	if err == nil && !d.out.Scan() {
		err = errors.Join(d.out.Err(), io.ErrUnexpectedEOF)
	}
	var r result
	if err == nil {
		err = json.Unmarshal(d.out.Bytes(), &r)
	}
	if err != nil {
		d.t.Fatalf("%s: %q: %v", d.name, words, err)
	}
	return r
}
