package rpc

import (
	"errors"
	"io"
	"io/fs"
	"syscall"
	"time"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// pieces is the input of a pipe, and the way to the files of its caller.
type pieces struct {
	next   []byte
	stream caller
	waits  [][]byte // pieces that came while an answer was awaited
	size   int      // bytes of these
	ended  bool     // nothing more comes
	err    error    // what ended the stream before its end
}

func (r *pieces) Read(p []byte) (int, error) {
	for len(r.next) == 0 {
		switch {
		case len(r.waits) > 0:
			r.next, r.waits = r.waits[0], r.waits[1:]
			r.size -= len(r.next)
			continue
		case r.ended:
			return 0, io.EOF
		}
		m, err := r.stream.Receive()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.err = err
			}
			return 0, err
		}
		r.next, r.ended = m.GetStdin(), m.GetStdinEnd()
	}
	n := copy(p, r.next)
	r.next = r.next[n:]
	return n, nil
}

var errTooFast = errors.New("too much input while a file was asked for")

// ask asks for something of one of the caller's files. What else arrives before the answer is
// input.
func (r *pieces) ask(req *rondov1.FileRequest) (*rondov1.FileAnswer, error) {
	if err := r.stream.Send(&rondov1.ExecResponse{File: req}); err != nil {
		return nil, err
	}
	for {
		m, err := r.stream.Receive()
		if err != nil {
			return nil, err
		}
		if a := m.GetFile(); a != nil {
			return a, fileError(req, a)
		}
		if p := m.GetStdin(); len(p) > 0 {
			r.waits, r.size = append(r.waits, p), r.size+len(p)
		}
		r.ended = r.ended || m.GetStdinEnd()
		if r.size > maxExecBytes {
			return nil, errTooFast
		}
	}
}

// fileError is the error that an answer tells, as the caller's system would have told it here.
func fileError(req *rondov1.FileRequest, a *rondov1.FileAnswer) error {
	switch {
	case a.GetErrno() != 0:
		return &fs.PathError{Op: req.GetOp().String(), Path: req.GetName(), Err: syscall.Errno(a.GetErrno())}
	case a.GetError() != "":
		return errors.New(a.GetError())
	}
	return nil
}

// remoteFiles are the files of a pipe's caller.
type remoteFiles struct{ in *pieces }

func (f remoteFiles) Stat(name string) (fs.FileInfo, error) {
	a, err := f.in.ask(&rondov1.FileRequest{Op: rondov1.FileRequest_STAT, Name: name})
	if err != nil {
		return nil, err
	}
	return remoteInfo{name, a.GetRegular()}, nil
}

func (f remoteFiles) Open(name string) (io.ReadCloser, error) {
	_, err := f.in.ask(&rondov1.FileRequest{Op: rondov1.FileRequest_OPEN, Name: name})
	if err != nil {
		return nil, err
	}
	return &remoteFile{in: f.in}, nil
}

func (f remoteFiles) Create(name string) (io.WriteCloser, error) {
	_, err := f.in.ask(&rondov1.FileRequest{Op: rondov1.FileRequest_CREATE, Name: name})
	if err != nil {
		return nil, err
	}
	return &remoteFile{in: f.in}, nil
}

// remoteInfo is what is asked of a file that is not open.
type remoteInfo struct {
	name    string
	regular bool
}

func (i remoteInfo) Name() string       { return i.name }
func (i remoteInfo) Size() int64        { return 0 }
func (i remoteInfo) ModTime() time.Time { return time.Time{} }
func (i remoteInfo) IsDir() bool        { return false }
func (i remoteInfo) Sys() any           { return nil }

func (i remoteInfo) Mode() fs.FileMode {
	if i.regular {
		return 0
	}
	return fs.ModeIrregular
}

// A remoteFile is the open file of a pipe's caller.
type remoteFile struct {
	in    *pieces
	read  []byte
	write []byte
}

// fewBytes is how much is asked for as it is: the beginning of a file tells whether more of it is
// wanted.
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
	_, e := f.in.ask(&rondov1.FileRequest{Op: rondov1.FileRequest_CLOSE})
	return errors.Join(err, e)
}
