package original

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// commandPatience is how long a command may take before it counts as one that never ends.
const commandPatience = 2 * time.Minute

// xmlFolder stands in programs for the folder of a peer that its files of XML are in.
const xmlFolder = "@"

// An answer is what a command says, how it ends, and the file that it wrote.
type answer struct {
	Stdout, Stderr string
	Exit           int
	File           string
}

// A peer runs the commands of a program.
type peer interface {
	// run returns false if there was no answer: the program crashed, or did not end.
	run(args []string) (answer, bool)
	close()
}

// A site is where a peer runs.
type site struct {
	program string
	lead    []string // arguments before a command's
	dir     string   // working folder
	xml     string   // what stands for xmlFolder
	env     []string
}

func (p *site) command(ctx context.Context, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.program, append(p.lead[:len(p.lead):len(p.lead)], args...)...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), p.env...)
	return cmd
}

// local puts the folder of the peer into arguments.
func (p *site) local(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = strings.ReplaceAll(a, xmlFolder+"/", p.xml+"/")
	}
	return out
}

// plain takes the folder out of an answer again, and what a dump wrote into it.
func (p *site) plain(args []string, a answer) answer {
	a.Stdout = strings.ReplaceAll(a.Stdout, p.xml+"/", xmlFolder+"/")
	a.Stderr = strings.ReplaceAll(a.Stderr, p.xml+"/", xmlFolder+"/")
	if args[0] == "dump" {
		for _, arg := range args {
			if name, ok := strings.CutPrefix(arg, xmlFolder+"/"); ok {
				b, _ := os.ReadFile(filepath.Join(p.xml, name)) // empty where there is none
				a.File = string(b)
			}
		}
	}
	return a
}

// A single runs each command in a process of its own.
type single struct{ site }

func (p *single) run(args []string) (answer, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), commandPatience)
	defer cancel()
	cmd := p.command(ctx, p.local(args))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil || cmd.ProcessState.ExitCode() < 0 {
		return answer{Stderr: fmt.Sprint(err)}, false
	}
	return p.plain(args, answer{Stdout: out.String(), Stderr: errs.String(), Exit: cmd.ProcessState.ExitCode()}), true
}

func (p *single) close() {}

// A piped runs all commands in one process, in pipe mode.
type piped struct {
	site
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	cancel context.CancelFunc
	closed bool
}

func newPiped(t testing.TB, at site, args ...string) *piped {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &piped{site: at, cancel: cancel}
	p.cmd = p.command(ctx, append([]string{"-"}, args...))
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *piped) run(args []string) (answer, bool) {
	timer := time.AfterFunc(commandPatience, p.cancel)
	defer timer.Stop()
	if _, err := fmt.Fprintln(p.in, shellLine(p.local(args))); err != nil {
		return answer{Stderr: err.Error()}, false
	}
	var a answer
	for {
		line, err := p.out.ReadString('\n')
		switch {
		case err != nil:
			return answer{Stderr: err.Error()}, false
		case strings.HasPrefix(line, "OK u:"):
			return p.plain(args, a), true
		case strings.HasPrefix(line, "ERROR: "):
			a.Stderr, a.Exit = line, 1
			return p.plain(args, a), true
		}
		a.Stdout += line
	}
}

func (p *piped) close() {
	if p.closed {
		return
	}
	p.closed = true
	_ = p.in.Close() // it may have ended
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.cmd.Wait() // how it ends says no more than its answers
	}()
	select {
	case <-done:
	case <-time.After(commandPatience):
		p.cancel()
		<-done
	}
	p.cancel()
}

// An inside runs commands without a process.
type inside struct {
	site
	store rrdtool.Store
}

func (p *inside) run(args []string) (answer, bool) {
	var out, errs bytes.Buffer
	env := &rrdtool.Env{Store: p.store, Stdout: &out, Stderr: &errs, Files: rrdtool.OSFiles{}, Getenv: p.getenv}
	if p.getenv("TZ") == "" {
		env.Location = time.UTC
	}
	code := rrdtool.Run(context.Background(), env, p.local(args))
	return p.plain(args, answer{Stdout: out.String(), Stderr: errs.String(), Exit: code}), true
}

func (p *inside) close() {}

// getenv returns a variable: the last that says it counts.
func (p *inside) getenv(name string) string {
	value := ""
	for _, e := range p.env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}

var (
	longFile  = regexp.MustCompile(`(?m)^WARNING: (ignoring last|if you see this).*\n`) // a restored file that was longer before
	nanSign   = regexp.MustCompile(`-nan\b`)
	strange   = regexp.MustCompile(`(?m)^(- )?(DS|RRA):.*\n`) // what a create without a name has made: rrdtool lists what ends in .rrd
	usageText = regexp.MustCompile(`^RRDtool 1`)
)

// laterVersion is the version of a file with DCOUNTER or DDERIVE sources in the output of info and
// dump.
var laterVersion = regexp.MustCompile(`(rrd_version = "|<version>)0005`)

// comparable takes out what docs/rrdtool-compat.md says may differ: the sign of NaN, the text of a
// usage, the version of a copy of a template, the order of names, and those that do not end in
// .rrd.
func comparable(args []string, a answer) answer {
	a.Stdout = nanSign.ReplaceAllString(a.Stdout, "nan")
	a.File = nanSign.ReplaceAllString(a.File, "nan")
	a.Stdout = laterVersion.ReplaceAllString(a.Stdout, "${1}0003")
	a.File = laterVersion.ReplaceAllString(a.File, "${1}0003")
	if usageText.MatchString(a.Stdout) {
		a.Stdout = "usage"
	}
	a.Stderr = longFile.ReplaceAllString(a.Stderr, "")
	if args[0] == "list" || args[0] == "ls" {
		a.Stdout = sortedLines(strange.ReplaceAllString(a.Stdout, ""))
	}
	return a
}
