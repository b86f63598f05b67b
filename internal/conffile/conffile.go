// Package conffile reads files of settings that a running process reads again: files of users,
// passwords, certificates, rules and types.
//
// Somebody else may replace such a file at any time, also by something that is no file. [Read]
// takes regular files only and never waits for the other end of a pipe.
package conffile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// The reasons why a file is not read.
var (
	// ErrKind says that a name stands for a folder, a pipe, a socket or a device.
	ErrKind = errors.New("it is no regular file")
	// ErrLong says that a file is longer than its reader takes.
	ErrLong = errors.New("it is too long")
)

// Read returns the bytes of a regular file, or of the regular file that a link leads to. The error
// is an *fs.PathError; it wraps ErrKind, or ErrLong if the file has more than most bytes.
func Read(name string, most int64) ([]byte, error) {
	// To open a device may change it. A pipe may take the file's place after this look, so that
	// opening does not wait, and the open file is looked at again.
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: ErrKind}
	}
	f, err := os.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: ErrKind}
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: at most %d bytes are taken", ErrLong, most)}
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}
