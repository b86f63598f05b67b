package backend

import (
	"context"
	"io"
	"sync"

	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// Pipe has the server run the commands of standard input.
func (s server) Pipe(ctx context.Context, c *Call, kind PipeKind) (int, error) {
	defer s.client.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.client.Pipe(ctx)
	if err != nil {
		return 1, Explain(err)
	}
	defer func() { _ = stream.Close() }() // what matters has been received
	first, files := c.firstRequest(kind)
	defer files.close()
	if err := stream.Send(first); err != nil {
		return 1, Explain(err)
	}
	talk := &conversation{stream: stream, answer: files.answer, stdout: c.Stdout, stderr: c.Stderr}
	go talk.sendInput(c.Stdin, files.scan)
	return talk.receive()
}

// firstRequest returns the request that begins a session, and the files of this process that the
// server may ask for.
func (c *Call) firstRequest(kind PipeKind) (*rondov1.ExecRequest, *callerFiles) {
	word := "-"
	if kind == FramedPipe {
		word = rpc.FramesWord
	}
	first := c.request([]string{word}, kind != OwnPipe)
	first.Files = true
	files := &callerFiles{frames: kind == FramedPipe}
	if kind != FramedPipe { // where the program sees to it
		c.here.Set(&files.env)
	}
	if files.env.Made != nil {
		first.Environment[rpc.KeepVariable] = rpc.KeepUnseen
	}
	return first, files
}

// An answerer does what a server asks of a file.
type answerer func(*rondov1.FileRequest) *rondov1.FileAnswer

// A conversation is a session that a server runs.
type conversation struct {
	stream         *rpc.Session
	answer         answerer
	stdout, stderr io.Writer

	sending sync.Mutex // held while a request is sent
}

func (t *conversation) send(req *rondov1.ExecRequest) error {
	t.sending.Lock()
	defer t.sending.Unlock()
	return t.stream.Send(req)
}

// sendInput sends the input until it ends or cannot be sent. receive says why it could not. Each
// piece goes to scan before it is sent.
func (t *conversation) sendInput(in io.Reader, scan func([]byte)) {
	buf := make([]byte, 64<<10)
	for {
		n, err := in.Read(buf)
		scan(buf[:n])
		if n > 0 && t.send(&rondov1.ExecRequest{Stdin: append([]byte(nil), buf[:n]...)}) != nil {
			return
		}
		if err != nil {
			scan([]byte{'\n'})
			_ = t.send(&rondov1.ExecRequest{StdinEnd: true})
			return
		}
	}
}

// receive prints the answers and gives the server the files that it asks for, up to the exit code.
func (t *conversation) receive() (int, error) {
	for {
		m, err := t.stream.Receive()
		switch {
		case err != nil:
			return 1, Explain(err)
		case m.ExitCode != nil:
			return int(m.GetExitCode()), nil
		case m.GetFile() != nil:
			if err := t.send(&rondov1.ExecRequest{File: t.answer(m.GetFile())}); err != nil {
				return 1, Explain(err)
			}
		}
		if _, err := t.stdout.Write(m.GetStdout()); err != nil {
			return 1, err
		}
		if _, err := t.stderr.Write(m.GetStderr()); err != nil {
			return 1, err
		}
	}
}
