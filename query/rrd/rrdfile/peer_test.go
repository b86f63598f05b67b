package rrdfile_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// A peer is the installed rrdtool: a pipe mode in a folder of its own, and processes for what a
// pipe does not show.
type peer struct {
	t    testing.TB
	path string
	dir  string
	pipe *rrdtooltest.Pipe
}

var peerEnv = []string{"TZ=Europe/Berlin", "LC_ALL=C", "PATH=" + os.Getenv("PATH")}

func newPeer(t testing.TB) *peer {
	t.Helper()
	path := rrdtooltest.RRDtool(t)
	p := &peer{t: t, path: path, dir: t.TempDir()}
	p.pipe = rrdtooltest.StartPipe(t, path, p.dir, peerEnv)
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
	return p.pipe.Ask(strings.Join(quoted, " "))
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
