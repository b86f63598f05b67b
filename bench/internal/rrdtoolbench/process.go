package rrdtoolbench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A process is a running program.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errors bytes.Buffer
	signal bool // the program ends at a signal; else at the end of its input
}

type processes []*process

// start starts a program that works in a folder, reads commands and answers.
func start(ctx context.Context, dir string, args []string) (*process, error) {
	p := &process{cmd: command(ctx, dir, args)}
	p.cmd.Stderr = &p.errors
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReaderSize(out, 64<<10)
	return p, p.cmd.Start()
}

// command returns a program that works in a folder and uses the database there. It gets a minimal
// environment, which names no other database.
func command(ctx context.Context, dir string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TZ=UTC", "LC_ALL=C", "RONDO_DB=" + filepath.Join(dir, "rondo.db")}
	return cmd
}

// serveCommand returns the command of a server that only answers the command line.
func serveCommand(rondo, sync string) []string {
	return []string{rondo, "serve", "--sync", sync, "--http=", "--rrdcached=", "--collectd=", "--gmetric=", "--mono=", "--log-level=warn"}
}

// patience is how long a server may take to start.
const patience = time.Minute

// startServer starts a server over the database of a folder and waits until it answers.
func startServer(ctx context.Context, dir string, args []string) (*process, error) {
	p := &process{cmd: command(ctx, dir, args), signal: true}
	p.cmd.Stderr = &p.errors
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if c, err := net.Dial("unix", filepath.Join(dir, "rondo.db", "rondo.sock")); err == nil {
			return p, c.Close()
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(errors.New("the server does not answer"), p.end())
		}
	}
}

// end ends the program and waits for it.
func (p *process) end() error {
	if p.signal {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	} else {
		_ = p.in.Close() // as above
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(p.errors.String()))
	}
	return nil
}

// processor returns the processor time that the programs have spent, as far as the system counts
// it.
func (ps processes) processor() (sum time.Duration) {
	for _, p := range ps {
		tasks, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "task", "*", "schedstat"))
		if err != nil {
			continue
		}
		for _, name := range tasks {
			data, err := os.ReadFile(name)
			if err != nil {
				continue
			}
			word, _, _ := strings.Cut(string(data), " ")
			ns, _ := strconv.ParseInt(word, 10, 64) // else 0
			sum += time.Duration(ns)
		}
	}
	return sum
}

// Find returns the installed rrdtool.
func Find() (string, error) { return exec.LookPath("rrdtool") }
