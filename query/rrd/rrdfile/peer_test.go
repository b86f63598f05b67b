package rrdfile_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// A peer is the installed rrdtool: a pipe mode in a folder of its own, and processes for what a pipe does not show.
type peer struct {
	t    testing.TB
	path string
	dir  string
	in   io.WriteCloser
	out  *bufio.Reader
}

var peerEnv = []string{"TZ=Europe/Berlin", "LC_ALL=C", "PATH=" + os.Getenv("PATH")}

func newPeer(t testing.TB) *peer {
	t.Helper()
	path := rrdtooltest.RRDtool(t)
	p := &peer{t: t, path: path, dir: t.TempDir()}
	cmd := exec.Command(path, "-")
	cmd.Dir, cmd.Env = p.dir, peerEnv
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReaderSize(out, 1<<20)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.in.Close()
		_ = cmd.Wait()
	})
	return p
}

func (p *peer) file(name string) string { return filepath.Join(p.dir, name) }

// do runs a command and returns what it prints, or rrdtool's error.
func (p *peer) do(args ...string) (string, error) {
	p.t.Helper()
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = `"` + a + `"`
	}
	if _, err := fmt.Fprintln(p.in, strings.Join(quoted, " ")); err != nil {
		p.t.Fatal(err)
	}
	var b strings.Builder
	for {
		line, err := p.out.ReadString('\n')
		switch {
		case err != nil:
			p.t.Fatalf("rrdtool ended at %v: %v", args, err)
		case strings.HasPrefix(line, "OK u:"):
			return b.String(), nil
		case strings.HasPrefix(line, "ERROR: "):
			return b.String(), fmt.Errorf("%s", strings.TrimSpace(line[7:]))
		}
		b.WriteString(line)
	}
}

// must is do for what must succeed.
func (p *peer) must(args ...string) string {
	p.t.Helper()
	out, err := p.do(args...)
	if err != nil {
		p.t.Fatalf("rrdtool %v: %v", args, err)
	}
	return out
}

// run runs a command in a process of its own, which may crash.
func (p *peer) run(args ...string) (stdout []byte, stderr string, err error) {
	cmd := exec.Command(p.path, args...)
	cmd.Dir, cmd.Env = p.dir, peerEnv
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.Bytes(), errs.String(), err
}

func berlin(t testing.TB) *time.Location {
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zone: ", err)
	}
	return loc
}

func newRand(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("RONDO_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("RONDO_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 4))
}

func programs(def int) int {
	if n, err := strconv.Atoi(os.Getenv("RONDO_PROGRAMS")); err == nil {
		return max(n/5, 1)
	}
	return def
}
