package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rondo-db/rondo/query/rrd/attime"
)

// Frames runs commands as [Pipe] does, for a program that reads the answers: docs/clients.md has
// the exchange. Numbers have as many digits as give the same double back, texts of any kind pass
// both ways, and a verb without arguments is a mistake. An answer is frames, each a line "TAG N"
// and N bytes: what the command prints (out), what it remarks (err), and at last done or error.
// When the input ends before a "quit", the last frame is bye: what is sent after that was not done.
// It returns the exit code.
func Frames(ctx context.Context, env *Env, in io.Reader) int {
	s := &session{in: bufio.NewReaderSize(in, 64<<10), frames: bufio.NewWriterSize(env.Stdout, 64<<10)}
	s.pipe = pipe{env: *env.withDefaults(), ctx: ctx, began: time.Now(), exact: true}
	s.out = bufio.NewWriterSize(framed{s.frames, "out"}, 64<<10)
	s.env.Stdout, s.env.Stderr, s.env.Stdin = s.out, framed{s.frames, "err"}, strings.NewReader("")
	s.env.Extra, s.env.Rondo = nil, false
	defer func() { _ = s.frames.Flush() }() // there is nobody left to tell
	for ctx.Err() == nil {
		line, err := s.line()
		if err != nil {
			break
		}
		if s.answer(line) {
			return 0
		}
		if s.in.Buffered() == 0 && s.frames.Flush() != nil {
			return 1
		}
	}
	_, _ = framed{s.frames, "bye"}.Write(nil) // as above
	return 0
}

// A session is one run of Frames.
type session struct {
	pipe
	in     *bufio.Reader
	frames *bufio.Writer
	buf    []byte
}

// line reads a line. The end of one that is too long is read over.
func (s *session) line() ([]byte, error) {
	s.buf = s.buf[:0]
	for {
		part, err := s.in.ReadSlice('\n')
		if len(s.buf) <= maxPipeLine {
			s.buf = append(s.buf, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return s.buf, err
		}
	}
}

// answer runs the command of a line and reports whether the session ends. An error of writing comes
// back when it is flushed.
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

// times prints the seconds that two times given at-style mean, which may lean on each other.
func (s *session) times(start, end string) error {
	now := s.command().now()
	from, err := attime.Parse(start, now)
	if err != nil {
		return fmt.Errorf("start time: %w", err)
	}
	to, err := attime.Parse(end, now)
	if err != nil {
		return fmt.Errorf("end time: %w", err)
	}
	a, b, err := attime.Resolve(from, to)
	if err != nil {
		return err
	}
	s.printf("%d %d\n", a, b)
	return nil
}
