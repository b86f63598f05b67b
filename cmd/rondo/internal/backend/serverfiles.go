package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// maxInput is the largest input, in bytes, that goes to a server in one message with its command. A
// server asks for the pieces of a larger one.
const maxInput = 4 << 20

// executeWith has the server run a request whose verb reads the file of the name in; "-" is
// standard input.
func (s server) executeWith(ctx context.Context, c *Call, req *rondov1.ExecRequest, in string) (int, error) {
	r := c.Stdin
	if in != "-" {
		f, err := os.Open(in)
		if err != nil {
			return 1, rrdtool.NoXML(in)
		}
		defer func() { _ = f.Close() }() // it is only read
		r = f
	}
	begin, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return 1, fmt.Errorf("error reading/parsing XML: %w", err)
	}
	if len(begin) <= maxInput {
		req.Stdin = begin
		return s.execute(ctx, c.Stdout, c.Stderr, req)
	}
	files := inputFile{io.MultiReader(bytes.NewReader(begin), r)}
	return s.converse(ctx, c, req, files.answer)
}

// converse has the server run a request, and ask for files while it does.
func (s server) converse(ctx context.Context, c *Call, req *rondov1.ExecRequest, answer answerer) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.client.Pipe(ctx)
	if err != nil {
		return 1, Explain(err)
	}
	defer func() { _ = stream.Close() }() // what matters has been received
	req.Files = true
	if err := stream.Send(req); err != nil {
		return 1, Explain(err)
	}
	talk := &conversation{stream: stream, answer: answer, stdout: c.Stdout, stderr: c.Stderr}
	return talk.receive()
}

// An inputFile is the only file that the server gets of a command that runs alone: its input.
type inputFile struct{ in io.Reader }

// answer does what the server asks.
func (f inputFile) answer(req *rondov1.FileRequest) *rondov1.FileAnswer {
	switch op := req.GetOp(); {
	case op == rondov1.FileRequest_OPEN && req.GetName() == rpc.InputFile:
		return &rondov1.FileAnswer{}
	case op != rondov1.FileRequest_READ:
		return &rondov1.FileAnswer{Error: "the command has its input and no other file"}
	}
	buf := make([]byte, min(max(req.GetSize(), 1), maxRead))
	n, err := io.ReadFull(f.in, buf)
	a := &rondov1.FileAnswer{Data: buf[:n]}
	if n == 0 && !errors.Is(err, io.EOF) {
		a.Error = err.Error()
	}
	return a
}

// A laterFile is a file that the first byte written to it makes.
type laterFile struct {
	name string
	f    *os.File
}

func (l *laterFile) Write(b []byte) (n int, err error) {
	if l.f == nil && len(b) > 0 {
		if l.f, err = os.Create(l.name); err != nil {
			var at *os.PathError
			if errors.As(err, &at) {
				err = at.Err
			}
			return 0, fmt.Errorf("creating '%s': %w", l.name, err)
		}
	}
	if l.f == nil {
		return 0, nil
	}
	return l.f.Write(b)
}

func (l *laterFile) close() error {
	if l.f == nil {
		return nil
	}
	return l.f.Close()
}
