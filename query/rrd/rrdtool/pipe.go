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
	"github.com/rondo-db/rondo/query/rrd/attime"
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

// A lineReader returns the lines that have arrived before it waits for more. It cuts a line that is
// too long after maxPipeLine+1 bytes and skips the rest of it.
type lineReader struct {
	in       io.Reader
	buf      []byte
	from, to int   // the part of buf that was not returned yet
	looked   int   // no line ends between from and looked
	err      error // error of in, returned after the last line
}

// pipeBuffer is how many bytes are read at once. It also bounds the lines of one burst.
const pipeBuffer = 64 << 10

func newLineReader(in io.Reader) *lineReader {
	return &lineReader{in: in, buf: make([]byte, pipeBuffer)}
}

// next returns the next line without its end. ok is false if no complete line has arrived. The line
// is valid until read is called.
func (l *lineReader) next() (line []byte, ok bool) {
	i := bytes.IndexByte(l.buf[l.looked:l.to], '\n')
	if i < 0 {
		l.looked = l.to
		return nil, false
	}
	i += l.looked
	line = l.buf[l.from:i]
	l.from, l.looked = i+1, i+1
	return line, true
}

// rest returns the last line of an input that does not end with a line feed.
func (l *lineReader) rest() []byte { return l.buf[l.from:l.to] }

// read waits for more input. Call it after next has returned no line.
func (l *lineReader) read() error {
	if l.err != nil {
		return l.err
	}
	if l.from > 0 {
		l.to = copy(l.buf, l.buf[l.from:l.to])
		l.from, l.looked = 0, l.to
	}
	if l.to > maxPipeLine {
		return l.readOver()
	}
	if l.to == len(l.buf) {
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	n, err := l.in.Read(l.buf[l.to:])
	l.to += n
	return l.keep(n, err)
}

// readOver is read inside a line that is too long.
func (l *lineReader) readOver() error {
	const cut = maxPipeLine + 1
	if len(l.buf) < cut+pipeBuffer {
		l.buf = append(l.buf, make([]byte, cut+pipeBuffer-len(l.buf))...)
	}
	n, err := l.in.Read(l.buf[cut:])
	more := l.buf[cut : cut+n]
	if i := bytes.IndexByte(more, '\n'); i >= 0 {
		more = more[i:]
	} else {
		more = nil
	}
	l.looked = cut
	l.to = cut + copy(l.buf[cut:], more)
	return l.keep(n, err)
}

// keep delays an error that came together with input, until that input has been returned.
func (l *lineReader) keep(n int, err error) error {
	if n > 0 && err != nil {
		l.err, err = err, nil
	}
	return err
}

// maxPipeLine bounds a line of pipe mode, in bytes.
const maxPipeLine = 1 << 20

// Frames runs commands as [Pipe] does, for a program that reads the answers. docs/clients.md
// describes the exchange. Differences from Pipe: numbers have enough digits to read back as the
// same double, texts may contain any byte, and a verb without arguments is an error.
//
// An answer consists of frames. A frame is a line "TAG N" and N bytes: the output of the command
// (out), its remarks (err), and at the end done or error. When the input ends without a "quit", the
// last frame is bye; commands that were sent but not answered were not run. Frames returns the exit
// code.
func Frames(ctx context.Context, env *Env, in io.Reader) int {
	s := &session{frames: bufio.NewWriterSize(env.Stdout, 64<<10)}
	s.pipe = pipe{env: *env.withDefaults(), ctx: ctx, in: newLineReader(in), began: time.Now(), exact: true}
	s.out = bufio.NewWriterSize(framed{s.frames, "out"}, 64<<10)
	s.env.Stdout, s.env.Stderr, s.env.Stdin = s.out, framed{s.frames, "err"}, strings.NewReader("")
	s.env.Extra, s.env.Rondo = nil, false
	defer func() { _ = s.frames.Flush() }() // the caller may have gone
	over, code := s.serve(s.answer, s.frames.Flush)
	if over {
		_, _ = framed{s.frames, "bye"}.Write(nil) // as above
	}
	return code
}

// A session is one run of Frames.
type session struct {
	pipe
	frames *bufio.Writer
}

// answer runs the command of a line and reports whether the session ends. Errors of writing are
// returned by a later Flush.
func (s *session) answer(line []byte) (quit bool) {
	err := errLongLine
	if len(line) <= maxPipeLine {
		err = errQuotes
		var ok bool
		if s.args, ok = escapedWords(s.args[:0], bytes.TrimRight(line, "\r\n")); ok {
			switch {
			case len(s.args) == 1 && s.args[0] == "quit":
				return true
			case len(s.args) > 1 && s.args[0] == "keep":
				s.env.KeepSame = true
				err = s.run(s.args[1:])
				s.env.KeepSame = false
			case len(s.args) > 0 && s.args[0] == "times":
				err = unless(parameters(s.args, 3), func() error { return s.times(s.args[1], s.args[2]) })
			default:
				err = s.run(s.args)
			}
		}
	}
	_ = s.out.Flush()
	if err != nil {
		_, _ = framed{s.frames, "error"}.Write([]byte(err.Error()))
		return false
	}
	_, _ = framed{s.frames, "done"}.Write(nil)
	return false
}

// A framed is a writer of frames.
type framed struct {
	to  *bufio.Writer
	tag string
}

func (f framed) Write(b []byte) (int, error) {
	_, err := fmt.Fprintf(f.to, "%s %d\n", f.tag, len(b))
	if err == nil {
		_, err = f.to.Write(b)
	}
	return len(b), err
}

// times prints two at-style times in seconds since 1970. They may refer to each other.
func (s *session) times(start, end string) error {
	a, b, err := attime.ParsePair(start, end, s.command().now())
	if err != nil {
		return err
	}
	s.printf("%d %d\n", a, b)
	return nil
}

// words appends the words of a line to dst. Blanks separate words, except inside single or double
// quotes, which may begin and end inside a word. It reports whether every quote is closed.
func words(dst []string, line []byte) ([]string, bool) {
	for i := 0; i < len(line); {
		if line[i] == ' ' {
			i++
			continue
		}
		var word []byte
		plain := i
		for ; i < len(line) && line[i] != ' '; i++ {
			if line[i] != '"' && line[i] != '\'' {
				continue
			}
			end := bytes.IndexByte(line[i+1:], line[i])
			if end < 0 {
				return dst, false
			}
			word = append(append(word, line[plain:i]...), line[i+1:i+1+end]...)
			i += end + 1
			plain = i + 1
		}
		dst = append(dst, string(append(word, line[min(plain, i):i]...)))
	}
	return dst, true
}

// escapedWords appends the words of a line to dst. Blanks separate words, except inside double
// quotes. A backslash makes the next byte a part of the word; \n is a line feed. It reports whether
// every quote is closed.
func escapedWords(dst []string, line []byte) ([]string, bool) {
	for i := 0; i < len(line); {
		if line[i] == ' ' {
			i++
			continue
		}
		var word []byte
		quoted := false
		for ; i < len(line) && (quoted || line[i] != ' '); i++ {
			switch {
			case line[i] == '"':
				quoted = !quoted
			case line[i] == '\\' && i+1 < len(line):
				i++
				if line[i] == 'n' {
					word = append(word, '\n')
				} else {
					word = append(word, line[i])
				}
			default:
				word = append(word, line[i])
			}
		}
		if quoted {
			return dst, false
		}
		dst = append(dst, string(word))
	}
	return dst, true
}
