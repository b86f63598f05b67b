package smon

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"

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
}

// openFiles opens files. The peer of a file is its FilePeer, and the second file with the same one
// has #2 behind it.
func openFiles(names []string) (files []*file, err error) {
	peers := make(map[string]int)
	for _, name := range names {
		f, err := openFile(name)
		if err != nil {
			for _, f := range files {
				f.close()
			}
			return nil, err
		}
		if peers[f.peer]++; peers[f.peer] > 1 {
			f.peer += "#" + strconv.Itoa(peers[f.peer])
		}
		files = append(files, f)
	}
	return files, nil
}

func openFile(name string) (*file, error) {
	if name == standardInput {
		return &file{File: os.Stdin, peer: inputPeer, wait: true}, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	mode, flags := info.Mode().Type(), os.O_RDONLY
	switch {
	case mode&fs.ModeDir != 0:
		return nil, fmt.Errorf("%s is a folder", name)
	case mode&fs.ModeNamedPipe != 0:
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
