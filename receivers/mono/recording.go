package mono

import (
	"fmt"
	"os"

	"github.com/rondo-db/rondo/receivers"
)

// A recording is a file that an agent has written.
type recording struct {
	*os.File
	peer string
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
	return &recording{f, receivers.FilePeer(name)}, nil
}
