package streams

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/receivers"
)

// standardInput is the name that means standard input, inputPeer the name of its peer.
const (
	standardInput = "-"
	inputPeer     = "stdin"
)

// A file is a stream that is read from a file, a pipe or standard input.
type file struct {
	*os.File
	peer string
	wait bool // a pipe or a terminal, which may have nothing to read yet
	ctx  context.Context
	read *atomic.Uint64 // bytes

	// Of a file that waits. Another goroutine reads, because standard input has no deadlines. If it
	// still waits when the context ends, it does so until the file is closed or has something to
	// read.
	buf   []byte
	got   chan result // has room for the one result; nil: the other goroutine does not read into buf
	reads int         // since the context has ended
}

type result struct {
	n   int
	err error
}

// After the context has ended, bytes that are there are still read from a file that waits: until
// there are none for lastWait, which gives a busy machine the time to read them, but no more than
// lastReads times.
const (
	lastWait  = 200 * time.Millisecond
	lastReads = 32
)

// typeOf returns the type of a file. The error says that it cannot be read: unless it is live, it
// must be a recording.
func typeOf(name string, live bool) (fs.FileMode, error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	mode := info.Mode().Type()
	switch {
	case mode != 0 && !live: // opening a pipe would wait for its writer
		return 0, fmt.Errorf("%s is no file", name)
	case mode.IsDir():
		return 0, fmt.Errorf("%s is a folder", name)
	}
	return mode, nil
}

// Check returns an error if a file that a flag names cannot be a recording.
func Check(c receivers.Config, files receivers.Flag) error {
	for _, name := range c.OptionValues(files) {
		if _, err := typeOf(name, false); err != nil {
			return files.Wrong(err)
		}
	}
	return nil
}

// openFile opens a file. Its peer is its FilePeer.
func openFile(name string, live bool) (*file, error) {
	if live && name == standardInput {
		return &file{File: os.Stdin, peer: inputPeer, wait: true}, nil
	}
	mode, err := typeOf(name, live)
	if err != nil {
		return nil, err
	}
	flags := os.O_RDONLY
	if mode&fs.ModeNamedPipe != 0 {
		flags = os.O_RDWR // so that opening does not wait for a writer, and one that goes is not the end
	}
	f, err := os.OpenFile(name, flags, 0)
	if err != nil {
		return nil, err
	}
	return &file{File: f, peer: receivers.FilePeer(name), wait: mode != 0}, nil
}

// close closes the file, except for standard input, which belongs to the process.
func (f *file) close() {
	if f.File != os.Stdin {
		_ = f.Close() // only read
	}
}

// Read reads until the context ends. From a file that waits it reads what is there by then. The
// error is the context's then.
func (f *file) Read(p []byte) (n int, err error) {
	defer func() { f.read.Add(uint64(n)) }()
	if !f.wait {
		if err := f.ctx.Err(); err != nil {
			return 0, err
		}
		return f.File.Read(p)
	}
	if f.got == nil {
		f.got = make(chan result, 1)
		f.buf = append(f.buf, make([]byte, max(len(p)-len(f.buf), 0))...)
		go func(got chan<- result, buf []byte) {
			n, err := f.File.Read(buf)
			got <- result{n, err}
		}(f.got, f.buf[:len(p)])
	}
	var late <-chan time.Time
	done := f.ctx.Done()
	for {
		select {
		case r := <-f.got:
			f.got = nil
			return copy(p, f.buf[:r.n]), r.err
		case <-done:
			if f.reads++; f.reads > lastReads {
				return 0, f.ctx.Err()
			}
			done, late = nil, time.After(lastWait)
		case <-late:
			return 0, f.ctx.Err()
		}
	}
}
