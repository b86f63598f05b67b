package rpc

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"time"

	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// A pipeInput reads the input of a session of pipe mode from the caller's requests, and asks the
// caller about the caller's files.
type pipeInput struct {
	next   []byte // the rest of the piece that is being read
	stream caller
	waits  [][]byte // pieces that arrived while ask waited for an answer, oldest first
	size   int      // bytes in waits
	ended  bool     // the caller has sent its last piece
	err    error    // the error that ended the stream early
	why    error    // the caller gets it, in place of err

	watch   func() error   // is called for each piece; an error ends the session
	account *limit.Account // of the bytes that are held
	most    int            // bytes that are read of one file; 0: no limit
}

func (r *pipeInput) Read(p []byte) (int, error) {
	for len(r.next) == 0 {
		switch {
		case r.why != nil: // ask has noticed it
			return 0, r.why
		case len(r.waits) > 0:
			r.next, r.waits = r.waits[0], r.waits[1:]
			r.size -= len(r.next)
			continue
		case r.ended:
			return 0, io.EOF
		}
		m, err := r.stream.Receive()
		if err != nil {
			if errors.Is(err, errIdle) {
				r.why = err
			}
			if !errors.Is(err, io.EOF) {
				r.err = err
			}
			return 0, err
		}
		if r.why = r.watch(); r.why != nil {
			return 0, r.why
		}
		r.next, r.ended = m.GetStdin(), m.GetStdinEnd()
	}
	n := copy(p, r.next)
	r.next = r.next[n:]
	return n, nil
}

// maxWaiting is how many bytes of input a session over the network keeps while it asks for a file.
const maxWaiting = 4 << 20

var errTooFast = errors.New("too much input while a file was asked for")

// ask sends a request about one of the caller's files and waits for the answer. It keeps the pieces
// of input that arrive before the answer.
func (r *pipeInput) ask(req *rondov1.FileRequest) (*rondov1.FileAnswer, error) {
	if err := r.stream.Send(&rondov1.ExecResponse{File: req}); err != nil {
		return nil, err
	}
	for {
		m, err := r.stream.Receive()
		if err != nil {
			return nil, err
		}
		if r.why = r.watch(); r.why != nil {
			return nil, r.why
		}
		if a := m.GetFile(); a != nil {
			return a, fileError(req, a)
		}
		if p := m.GetStdin(); len(p) > 0 {
			r.waits, r.size = append(r.waits, p), r.size+len(p)
		}
		r.ended = r.ended || m.GetStdinEnd()
		if r.size > maxExecBytes || r.account != nil && r.size > maxWaiting {
			return nil, errTooFast
		}
	}
}

// fileError returns the error in an answer, in the form that a local file would have returned it.
func fileError(req *rondov1.FileRequest, a *rondov1.FileAnswer) error {
	switch {
	case a.GetErrno() != 0:
		return &fs.PathError{Op: req.GetOp().String(), Path: req.GetName(), Err: syscall.Errno(a.GetErrno())}
	case a.GetError() != "":
		return errors.New(a.GetError())
	}
	return nil
}

// remoteFiles are the files of the caller of a session.
type remoteFiles struct{ in *pipeInput }

func (f remoteFiles) Stat(name string) (fs.FileInfo, error) {
	a, err := f.in.ask(&rondov1.FileRequest{Op: rondov1.FileRequest_STAT, Name: name})
	if err != nil {
		return nil, err
	}
	return remoteInfo{name, a}, nil
}

func (f remoteFiles) Open(name string) (io.ReadCloser, error) {
	return f.open(rondov1.FileRequest_OPEN, name)
}

func (f remoteFiles) Create(name string) (io.WriteCloser, error) {
	return f.open(rondov1.FileRequest_CREATE, name)
}

func (f remoteFiles) open(op rondov1.FileRequest_Op, name string) (io.ReadWriteCloser, error) {
	if _, err := f.in.ask(&rondov1.FileRequest{Op: op, Name: name}); err != nil {
		return nil, err
	}
	return &remoteFile{in: f.in}, nil
}

// InputFile is the name by which a [rondov1.FileRequest] opens the input of the only command of a
// session.
const InputFile = "-"

// A callerInput is the input of a command. It is opened when the command reads it.
type callerInput struct {
	in   *pipeInput
	file io.Reader
}

func (c *callerInput) Read(p []byte) (int, error) {
	if c.file == nil {
		f, err := remoteFiles{c.in}.Open(InputFile)
		if err != nil {
			return 0, err
		}
		c.file = f
	}
	return c.file.Read(p)
}

// remoteInfo is the answer to a Stat: whether the file is a regular one, when it was written, and
// nothing else.
type remoteInfo struct {
	name   string
	answer *rondov1.FileAnswer
}

func (i remoteInfo) Name() string       { return i.name }
func (i remoteInfo) Size() int64        { return 0 }
func (i remoteInfo) ModTime() time.Time { return time.Unix(i.answer.GetModified(), 0) }
func (i remoteInfo) IsDir() bool        { return false }
func (i remoteInfo) Sys() any           { return nil }

func (i remoteInfo) Mode() fs.FileMode {
	if i.answer.GetRegular() {
		return 0
	}
	return fs.ModeIrregular
}

// A remoteFile is an open file of the caller of a session.
type remoteFile struct {
	in    *pipeInput
	read  []byte
	write []byte
	size  int // bytes that were read
}

// fewBytes is the largest read that is asked for with its own size. Such a read looks at the
// beginning of a file to decide whether to read the rest. Larger reads ask for chunkBytes.
const fewBytes = 64

func (f *remoteFile) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(f.read) == 0 {
		size := len(p)
		if size > fewBytes {
			size = chunkBytes
		}
		a, err := f.in.ask(&rondov1.FileRequest{Op: rondov1.FileRequest_READ, Size: int32(size)})
		if err != nil {
			return 0, err
		}
		if f.read = a.GetData(); len(f.read) == 0 {
			return 0, io.EOF
		}
		if f.size += len(f.read); f.in.most > 0 && f.size > f.in.most {
			return 0, fmt.Errorf("the file has more than %d MiB, which a server does not take over the network: rondo import does", f.in.most>>20)
		}
		if err := f.in.account.Charge(int64(len(f.read))); err != nil {
			return 0, fmt.Errorf("%w. More --memory lets the server take longer files; rondo import brings them in pieces", err)
		}
	}
	n := copy(p, f.read)
	f.read = f.read[n:]
	return n, nil
}

func (f *remoteFile) Write(p []byte) (int, error) {
	f.write = append(f.write, p...)
	if len(f.write) < chunkBytes {
		return len(p), nil
	}
	return len(p), f.flush()
}

func (f *remoteFile) flush() error {
	if len(f.write) == 0 {
		return nil
	}
	_, err := f.in.ask(&rondov1.FileRequest{Op: rondov1.FileRequest_WRITE, Data: f.write})
	f.write = f.write[:0]
	return err
}

func (f *remoteFile) Close() error {
	err := f.flush()
	f.in.account.Close()
	_, e := f.in.ask(&rondov1.FileRequest{Op: rondov1.FileRequest_CLOSE})
	return errors.Join(err, e)
}
