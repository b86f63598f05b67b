package backend

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A callerFiles reads and writes this process's files for a server that runs commands of pipe mode.
// It touches only files that a command has named: the server may belong to another user.
type callerFiles struct {
	frames bool
	env    rrdtool.Env // with Seen and Made
	part   []byte      // the read part of an unfinished line; empty if it is too long

	mu    sync.Mutex // guards named, older and makes, which scan and answer use at the same time
	named map[string]struct{}
	older map[string]struct{} // the names before named was full
	makes int                 // commands that make a series, less the series made

	file *os.File // the one that is open
}

const (
	// maxNamed is more than the number of commands that can be on their way to a server.
	maxNamed = 1 << 17
	// maxNaming is the length, in bytes, of the longest line that can name a file.
	maxNaming = 64 << 10
	// maxRead is the most bytes that are read at once.
	maxRead = 1 << 20
)

// scan notes the files that commands name, before they are sent.
func (c *callerFiles) scan(p []byte) {
	for {
		line, rest, whole := bytes.Cut(p, []byte{'\n'})
		if len(c.part)+len(line) > maxNaming {
			c.part, line = nil, nil
		}
		if !whole {
			c.part = append(c.part, line...)
			return
		}
		if len(c.part) > 0 {
			line = append(c.part, line...)
			c.part = c.part[:0]
		}
		c.name(line)
		p = rest
	}
}

func (c *callerFiles) name(line []byte) {
	names := rrdtool.LineFiles(line, c.frames)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.env.Made != nil && makesSeries(line) {
		c.makes++
	}
	c.add(names)
}

// add notes files that the server may ask for. The caller holds mu, or is alone.
func (c *callerFiles) add(names []string) {
	if len(names) == 0 {
		return
	}
	if c.named == nil || len(c.named) >= maxNamed {
		c.named, c.older = make(map[string]struct{}), c.named
	}
	for _, name := range names {
		c.named[name] = struct{}{}
	}
}

func (c *callerFiles) isNamed(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.named[name]
	_, was := c.older[name]
	return ok || was
}

// answer does what the server asks.
func (c *callerFiles) answer(req *rondov1.FileRequest) *rondov1.FileAnswer {
	a := &rondov1.FileAnswer{}
	err := c.do(req, a)
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		a.Errno = int32(errno)
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

func (c *callerFiles) do(req *rondov1.FileRequest, a *rondov1.FileAnswer) (err error) {
	if path, ok := strings.CutPrefix(req.GetName(), rpc.SeriesFile); ok && c.env.Made != nil {
		return c.series(req.GetOp(), path)
	}
	switch req.GetOp() {
	case rondov1.FileRequest_STAT, rondov1.FileRequest_OPEN, rondov1.FileRequest_CREATE:
		if !c.isNamed(req.GetName()) {
			return fmt.Errorf("no command has named the file %.100q", req.GetName())
		}
	default:
		if c.file == nil {
			return os.ErrClosed
		}
	}
	switch req.GetOp() {
	case rondov1.FileRequest_STAT:
		var info os.FileInfo
		if info, err = os.Stat(req.GetName()); err == nil {
			a.Regular, a.Modified = info.Mode().IsRegular(), info.ModTime().Unix()
		}
	case rondov1.FileRequest_OPEN:
		c.close()
		c.file, err = os.Open(req.GetName())
	case rondov1.FileRequest_CREATE:
		c.close()
		c.file, err = os.Create(req.GetName())
	case rondov1.FileRequest_READ:
		buf := make([]byte, min(max(req.GetSize(), 1), maxRead))
		var n int
		if n, err = c.file.Read(buf); err == io.EOF {
			err = nil
		}
		a.Data = buf[:n]
	case rondov1.FileRequest_WRITE:
		_, err = c.file.Write(req.GetData())
	case rondov1.FileRequest_CLOSE:
		err = c.file.Close()
		c.file = nil
	default:
		err = errors.New("this rondo does not know what the server asks of a file")
	}
	return err
}

// makesSeries says whether a line can be a command that makes a series.
func makesSeries(line []byte) bool {
	return bytes.Contains(line, []byte("create")) || bytes.Contains(line, []byte("restore"))
}

// series looks for, or makes, the file that stands for a series in the base.
func (c *callerFiles) series(op rondov1.FileRequest_Op, path string) error {
	switch op {
	case rondov1.FileRequest_STAT:
		if !c.env.Seen(path) {
			return syscall.ENOENT
		}
	case rondov1.FileRequest_CREATE:
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.makes == 0 {
			return errors.New("no command makes a series")
		}
		c.makes--
		c.env.Made(path)
	default:
		return errors.ErrUnsupported
	}
	return nil
}

// close closes the file that is open.
func (c *callerFiles) close() {
	if c.file != nil {
		_ = c.file.Close() // the command that opened it has ended
		c.file = nil
	}
}
