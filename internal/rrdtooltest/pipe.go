package rrdtooltest

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// A Pipe is an rrdtool in pipe mode, `rrdtool -`.
type Pipe struct {
	tb  testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// StartPipe starts the rrdtool at path in the folder dir, with the environment env; nil: the test's
// own. rrdtool ends when the test does.
func StartPipe(tb testing.TB, path, dir string, env []string) *Pipe {
	tb.Helper()
	p := &Pipe{tb: tb, cmd: exec.Command(path, "-")}
	p.cmd.Dir, p.cmd.Env = dir, env
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	p.out = bufio.NewReaderSize(out, 1<<20)
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.end)
	return p
}

// end lets rrdtool end; it may be called again.
func (p *Pipe) end() {
	_ = p.in.Close()
	_ = p.cmd.Wait() // how it ends does not matter
}

// ErrCrashed is the error of Try if rrdtool has ended.
var ErrCrashed = errors.New("crash")

// Try runs one line and returns what rrdtool printed. The error is rrdtool's message without
// "ERROR: ", or ErrCrashed.
func (p *Pipe) Try(line string) (out string, err error) {
	p.tb.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.tb.Fatal(err)
	}
	var b strings.Builder
	for {
		l, err := p.out.ReadString('\n')
		if err != nil {
			return b.String(), ErrCrashed
		}
		if strings.HasPrefix(l, "OK u:") {
			return b.String(), nil
		}
		if rest, ok := strings.CutPrefix(l, "ERROR: "); ok {
			return b.String(), errors.New(strings.TrimSuffix(rest, "\n"))
		}
		b.WriteString(l)
	}
}

// Ask is Try, but fails the test if rrdtool crashes.
func (p *Pipe) Ask(line string) (out string, err error) {
	p.tb.Helper()
	if out, err = p.Try(line); errors.Is(err, ErrCrashed) {
		p.tb.Fatalf("rrdtool ended at %s", line)
	}
	return out, err
}
