package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
)

// Pipe runs commands from in, one in each line, as `rrdtool -` does, until the input ends or the
// command is quit. All output goes to Stdout, errors included. An answer ends with a line "OK
// u:0.00 s:0.00 r:SECONDS" or "ERROR: …". Pipe returns the exit code.
//
// The commands cd, mkdir, ls and pwd work on the folders in the paths of series. A folder of mkdir
// exists until the pipe ends.
//
// If the Store is a [Batcher], updates that have arrived together are stored together. Answers are
// written when no further line has arrived. The answer of an update says that its samples are as
// durable as the store makes them.
func Pipe(ctx context.Context, env *Env, in io.Reader) int {
	p := &pipe{env: *env.withDefaults(), ctx: ctx, in: newLineReader(in), began: time.Now()}
	p.out = bufio.NewWriterSize(env.Stdout, 64<<10)
	p.env.Stdout, p.env.Stdin = p.out, strings.NewReader("")
	p.burst.store, _ = env.Store.(Batcher)
	p.burst.now, p.burst.names.command = p.env.Now, p.command
	defer func() {
		env.Dir = p.env.Dir
		_ = p.out.Flush() // the caller may have gone
	}()
	over, code := p.serve(p.line, func() error {
		p.drain()
		return p.out.Flush()
	})
	if over {
		if line := p.in.rest(); len(line) == 0 || ctx.Err() != nil || !p.line(line) {
			p.drain()
		}
	}
	return code
}

// serve calls do with each line that ends, until do reports that the session ends. It calls flush
// before it waits for more input. over reports that the input has ended, or the context.
func (p *pipe) serve(do func(line []byte) (quit bool), flush func() error) (over bool, code int) {
	for p.ctx.Err() == nil {
		if line, ok := p.in.next(); ok {
			if do(line) {
				return false, 0
			}
			continue
		}
		if flush() != nil {
			return false, 1
		}
		if p.in.read() != nil {
			break
		}
	}
	return true, 0
}

// A pipe is one session of pipe mode.
type pipe struct {
	env   Env
	ctx   context.Context
	in    *lineReader
	out   *bufio.Writer
	burst burst
	began time.Time
	made  []string // folders that mkdir has made
	exact bool     // print for programs: see Frames
	args  []string
	ok    []byte // the answer of a successful command
}

var errLongLine = fmt.Errorf("line is longer than %d bytes", maxPipeLine)

// line handles one line and reports whether the session ends.
func (p *pipe) line(line []byte) (quit bool) {
	if len(line) <= maxPipeLine {
		line = bytes.TrimSpace(line)
	}
	if p.burst.add(line) {
		if len(p.burst.lines) >= maxBurst {
			p.drain()
		}
		return false
	}
	p.drain()
	return p.do(line)
}

// do runs the command of a line and reports whether the session ends.
func (p *pipe) do(line []byte) (quit bool) {
	err := errLongLine
	if len(line) <= maxPipeLine {
		err = errQuotes
		var ok bool
		if p.args, ok = words(p.args[:0], line); ok {
			if len(p.args) == 1 && p.args[0] == "quit" {
				return true
			}
			err = p.run(p.args)
		}
	}
	p.reply(err)
	return false
}

// reply ends the answer of a command.
func (p *pipe) reply(err error) {
	if err != nil {
		p.printf("ERROR: %v\n", p.env.locale.localError(err))
		return
	}
	p.ok = p.appendOK(p.ok[:0])
	_, _ = p.out.Write(p.ok) // as in printf
}

// printf prints to the output. An error is returned by a later Flush.
func (p *pipe) printf(format string, args ...any) { _, _ = fmt.Fprintf(p.out, format, args...) }

func (p *pipe) run(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "quit":
			return parameters(args, -1)
		case "pwd":
			return unless(parameters(args, 1), p.pwd)
		case "ls":
			return unless(parameters(args, 1), p.ls)
		case "cd":
			return unless(parameters(args, 2), func() error { return p.cd(args[1]) })
		case "mkdir":
			return unless(parameters(args, 2), func() error { return p.mkdir(args[1]) })
		}
	}
	if len(args) > 0 && !slices.Contains(keeping, args[0]) {
		defer p.burst.names.forget()
	}
	return p.command().dispatch(args)
}

// keeping are the verbs that do not change which series a name means. Other verbs empty the names.
var keeping = []string{"update", "updatev", "last", "lastupdate", "first", "info", "fetch", "xport", "graph", "graphv", "dump", "list", "flushcached"}

// unless returns err if it is not nil, or else the result of do.
func unless(err error, do func() error) error {
	if err != nil {
		return err
	}
	return do()
}

func parameters(args []string, n int) error {
	if len(args) != n {
		return fmt.Errorf("invalid parameter count for %s", args[0])
	}
	return nil
}

var errQuotes = errors.New("creating arguments")

func (p *pipe) command() *command {
	return &command{Env: &p.env, ctx: p.ctx, out: p.out, exact: p.exact, empty: p.made}
}

func (p *pipe) pwd() error {
	p.printf("%s\n", path.Join("/", p.env.Base, p.env.Dir))
	return nil
}

// folder reports whether a path is a folder: the top, a folder of mkdir, or the part before a slash
// in the path of a series.
func (p *pipe) folder(path string) (bool, error) {
	if path == "" || slices.Contains(p.made, path) {
		return true, nil
	}
	for _, err := range p.env.Store.Select(p.ctx, core.Query{Prefix: path + "/", Order: core.ByPath}) {
		return err == nil, err
	}
	return false, nil
}

func (p *pipe) cd(name string) error {
	path, err := p.env.Path(name)
	ok := false
	if err == nil {
		ok, err = p.folder(path)
	}
	if err == nil && !ok {
		err = errNoSuchFile
	}
	if err != nil {
		return fmt.Errorf("chdir %s %w", name, err)
	}
	p.env.Dir = path
	p.burst.names.forget()
	return nil
}

func (p *pipe) mkdir(name string) error {
	path, err := p.env.Path(name)
	if err == nil {
		err = p.canMake(path)
	}
	if err != nil {
		return fmt.Errorf("mkdir %s: %w", name, err)
	}
	if len(p.made) >= maxMade {
		p.made = p.made[1:]
	}
	p.made = append(p.made, path)
	return nil
}

// maxMade bounds the folders of mkdir that are remembered.
const maxMade = 1000

func (p *pipe) canMake(path string) error {
	there, err := p.folder(path)
	if err == nil && !there {
		_, err = p.env.Store.Lookup(path)
		if there = err == nil; errors.Is(err, core.ErrNotFound) {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	if there {
		return errors.New("File exists")
	}
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		if parent, err := p.folder(path[:i]); err != nil || !parent {
			return errNoSuchFile
		}
	}
	return nil
}

// ls prints the folders and the series of the working folder.
func (p *pipe) ls() error {
	p.printf("d .\nd ..\n")
	dir := p.env.Dir
	if dir != "" {
		dir += "/"
	}
	for _, m := range p.made {
		if rest, ok := strings.CutPrefix(m, dir); ok && !strings.Contains(rest, "/") {
			if there, err := p.seriesBelow(m); err == nil && !there {
				p.printf("d %s\n", rest)
			}
		}
	}
	for entry, err := range Entries(p.ctx, p.env.Store, dir, false) {
		if err != nil {
			return err
		}
		if folder, ok := strings.CutSuffix(entry, "/"); ok {
			p.printf("d %s\n", folder)
		} else {
			p.printf("- %s\n", entry)
		}
	}
	return nil
}

// seriesBelow reports whether a folder contains series, and thus exists without mkdir.
func (p *pipe) seriesBelow(path string) (bool, error) {
	made := p.made
	p.made = nil
	defer func() { p.made = made }()
	return p.folder(path)
}

// drain stores the samples of the burst and answers its lines.
func (p *pipe) drain() {
	g := &p.burst
	if len(g.lines) == 0 {
		return
	}
	g.batch.Rejections = g.batch.Len()
	err := g.store.Append(p.ctx, &g.batch)
	if err == nil {
		p.ok = p.appendOK(p.ok[:0])
		for range g.lines {
			_, _ = p.out.Write(p.ok) // as in printf
		}
	} else {
		p.explain(err)
	}
	clear(g.lines) // keep no aliases alive
	g.lines = g.lines[:0]
	g.batch.Reset()
}

// explain answers the lines of a burst if some of its samples were refused.
func (p *pipe) explain(err error) {
	g := &p.burst
	rejected, some := errors.AsType[*core.RejectedError](err)
	var first []core.Rejection
	if some {
		first = rejected.First
	}
	for i := range g.lines {
		l := &g.lines[i]
		var why error
		if !some {
			why = err
		}
		for len(first) > 0 && first[0].Index < l.end {
			if why == nil {
				why = first[0].Err
			}
			first = first[1:]
		}
		switch {
		case why == nil:
			p.reply(nil)
		// the series has ended, and another may have its name: run the command again
		case errors.Is(why, core.ErrNotFound):
			g.names.drop(l.e)
			p.do(l.text)
		default:
			p.reply(refusal(l.e.name, why))
		}
	}
}

// appendOK appends the answer of a command that worked.
func (p *pipe) appendOK(dst []byte) []byte {
	dst = append(dst, "OK u:0.00 s:0.00 r:"...)
	dst = strconv.AppendFloat(dst, time.Since(p.began).Seconds(), 'f', 2, 64)
	return append(dst, '\n')
}

// increasing returns a clock that returns a later time in each call, if only by a microsecond, so
// that N twice, in one command or in two, is two samples. If the system's clock is set back, it
// follows.
func increasing(now func() time.Time) func() time.Time {
	var told time.Time
	return func() time.Time {
		t := now().Truncate(time.Microsecond)
		if ahead := told.Sub(t); ahead >= 0 && ahead < time.Second {
			t = told.Add(time.Microsecond)
		}
		told = t
		return t
	}
}
