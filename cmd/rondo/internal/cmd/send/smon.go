package send

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/receivers/smon"
)

const sendSmonHelp = `Send values as an smon token stream, over one connection or into a file.

A value is NAME=VALUE, or NAME/I1/I2=VALUE at an index: the last numbers of the name, up to eight of them. A VALUE that is a number
from 0 to 2^64-1 makes a token of unsigned numbers, another one, or with --string every one, a token of texts.

  rondo send smon --to 127.0.0.1:3000 linux.uptime=1000 linux.cpu.idle/0=512 mon.version=1.2
  vmstat 1 | awk '{print "cpu.idle", $15; fflush()}' | rondo send smon --to monitor:3000 -

With - the values come from standard input, a name, a blank and a value a line, and are sent as they come.
With --interval the values are sent again and again, until --count times, or until SIGINT.`

// A smonSend is the flags of `rondo send smon`.
type smonSend struct {
	to, out string
	texts   bool
	reset   bool
	rounds
}

func newSendSmon(c *cli.Factory) *cobra.Command {
	var s smonSend
	cmd := &cobra.Command{
		Use:   "smon NAME[/INDEX…]=VALUE… | -",
		Short: "Send values as an smon token stream, over TCP or into a file",
		Long:  sendSmonHelp,
		Args:  cli.Takes(1, cli.Unlimited),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.run(cmd.Context(), c, args)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&s.to, "to", "", "`address` of the receiver, host:port (the protocol has no default port)")
	f.StringVar(&s.out, "out", "", "write the stream to this `file` instead of sending it; - is standard output")
	f.BoolVar(&s.texts, "string", false, "every value is a text")
	f.BoolVar(&s.reset, "reset", false, "begin with a reset, for a pipe or a file that contains another stream already")
	s.addFlags(f, "rounds")
	return cmd
}

func (s *smonSend) run(ctx context.Context, c *cli.Factory, args []string) (err error) {
	lines, values, err := s.check(args)
	if err != nil {
		return cli.Misused("send smon", err)
	}
	w, err := s.open(ctx, c)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = w.Close() }) // ends a write that waits
	defer stop()
	defer func() {
		if ctx.Err() != nil { // interrupted by the user
			err = nil
			return
		}
		err = cmp.Or(err, w.Close())
	}()
	o := &smonStream{w: w}
	if s.reset {
		o.enc.Reset()
	}
	if !lines {
		return s.repeat(ctx, o, values)
	}
	copied := make(chan error, 1)
	go func() { copied <- s.copyLines(o, c.Stdin) }()
	select {
	case err := <-copied:
		return err
	case <-ctx.Done():
		return nil // a read of standard input cannot be ended; it ends with the process
	}
}

// check reads the arguments. lines reports that values come from standard input.
func (s *smonSend) check(args []string) (lines bool, values []smonValue, err error) {
	lines = args[0] == "-"
	err = s.rounds.check()
	switch {
	case (s.to == "") == (s.out == ""):
		return false, nil, errors.New("want either --to HOST:PORT or --out FILE")
	case err != nil:
		return false, nil, err
	case lines && (len(args) > 1 || s.interval > 0):
		return false, nil, errors.New("- stands alone: values come as they are read")
	case lines:
		return true, nil, nil
	}
	for _, a := range args {
		name, value, ok := strings.Cut(a, "=")
		if !ok {
			return false, nil, fmt.Errorf("%q: want NAME=VALUE", a)
		}
		v, err := s.value(name, value)
		if err != nil {
			return false, nil, fmt.Errorf("%q: %w", a, err)
		}
		values = append(values, v)
	}
	return false, values, nil
}

// open opens the destination of the stream.
func (s *smonSend) open(ctx context.Context, c *cli.Factory) (io.WriteCloser, error) {
	switch s.out {
	case "":
		return new(net.Dialer).DialContext(ctx, "tcp", s.to)
	case "-":
		if cli.IsTerminal(c.Stdout) {
			return nil, errors.New("a stream is no text: --out - needs standard output to be no terminal")
		}
		return struct {
			io.Writer
			io.Closer
		}{c.Stdout, io.NopCloser(nil)}, nil
	}
	return os.OpenFile(s.out, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
}

// A smonValue is one value to send.
type smonValue struct {
	name   string
	index  []uint64
	number uint64
	text   []byte // nil: the value is a number
}

// value reads a name with its index, and a value.
func (s *smonSend) value(name, text string) (v smonValue, err error) {
	for len(v.index) < smon.MaxDepth {
		i := strings.LastIndexByte(name, '/')
		n, err := strconv.ParseUint(name[i+1:], 10, 64)
		if i < 0 || err != nil {
			break
		}
		name, v.index = name[:i], append([]uint64{n}, v.index...)
	}
	v.name = name
	if v.number, err = strconv.ParseUint(text, 10, 64); err != nil || s.texts {
		v.text = append([]byte{}, text...)
	}
	return v, putSmon(new(smon.Encoder), v) // encoding it finds the mistakes
}

// A smonStream is a stream being written.
type smonStream struct {
	w   io.Writer
	enc smon.Encoder
}

// put adds a value to the bytes to write. If the stream has no number left for its name, the stream
// begins again with a reset.
func (o *smonStream) put(v smonValue) error {
	err := putSmon(&o.enc, v)
	if errors.Is(err, smon.ErrTokens) {
		o.enc.Reset()
		err = putSmon(&o.enc, v)
	}
	return err
}

func putSmon(e *smon.Encoder, v smonValue) error {
	if v.text != nil {
		return e.String(v.name, v.index, v.text)
	}
	return e.Unsigned(v.name, v.index, v.number)
}

func (o *smonStream) flush() error {
	_, err := o.w.Write(o.enc.Bytes())
	o.enc.Clear()
	return err
}

// repeat sends the values once, or once an interval.
func (s *smonSend) repeat(ctx context.Context, o *smonStream, values []smonValue) error {
	for n := 1; ; n++ {
		for _, v := range values {
			if err := o.put(v); err != nil {
				return err
			}
		}
		if err := o.flush(); err != nil || n == s.count {
			return err
		}
		select {
		case <-time.After(s.interval):
		case <-ctx.Done():
			return nil
		}
	}
}

// copyLines sends the values in the lines of r. It sends the values it has read whenever r has no
// more lines for the moment.
func (s *smonSend) copyLines(o *smonStream, r io.Reader) error {
	in := bufio.NewReaderSize(r, smon.MaxText+1024) // holds the longest line
	for line := 1; ; line++ {
		b, err := in.ReadSlice('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("standard input, line %d: %w", line, err)
		}
		if text := strings.TrimSpace(string(b)); text != "" {
			if err := s.putLine(o, text); err != nil {
				return cmp.Or(fmt.Errorf("standard input, line %d: %w", line, err), o.flush())
			}
		}
		if err == io.EOF {
			return o.flush()
		}
		if in.Buffered() == 0 {
			if err := o.flush(); err != nil {
				return err
			}
		}
	}
}

func (s *smonSend) putLine(o *smonStream, text string) error {
	blank := strings.IndexAny(text, " \t")
	if blank < 0 {
		return fmt.Errorf("%.100q: want a name and a value", text)
	}
	v, err := s.value(text[:blank], strings.TrimSpace(text[blank:]))
	if err != nil {
		return err
	}
	return o.put(v)
}
