package mono

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/rondo-db/rondo/receivers"
)

// A recording is a file that an agent has written.
type recording struct {
	*os.File
	peer string
	ctx  context.Context
	read *atomic.Uint64 // bytes
}

// Read reads until the context ends.
func (f *recording) Read(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := f.File.Read(p)
	f.read.Add(uint64(n))
	return n, err
}

// checkRecording returns an error if a file cannot be a recording.
func checkRecording(name string) error {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		err = fmt.Errorf("%s is no file", name)
	}
	return err
}

// openRecording opens a file. Its peer is its name without folder and extension.
func openRecording(name string) (*recording, error) {
	if err := checkRecording(name); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return &recording{File: f, peer: receivers.FilePeer(name)}, nil
}
