package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rondo-db/rondo/query/rrd/attime"
)

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
