package wal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rondo-db/rondo/internal/owner"
)

// FS is the file system that a log needs. Package waltest has one in memory that loses power.
type FS interface {
	// MkdirAll makes a folder and those above it.
	MkdirAll(dir string) error
	// ReadDir lists the names in a folder.
	ReadDir(dir string) ([]string, error)
	// Create makes an empty file, or empties the one that is there.
	Create(name string) (File, error)
	// Open opens a file for reading and, if write is set, for writing.
	Open(name string, write bool) (File, error)
	// Rename gives a file another name in the same folder, replacing what had it.
	Rename(from, to string) error
	// Named says whether name is still the name of the open file f.
	Named(name string, f File) (bool, error)
	// Remove deletes a file.
	Remove(name string) error
	// SyncDir makes the names in a folder durable.
	SyncDir(dir string) error
	// Lock takes the named lock file or returns an error that wraps ErrLocked; closing releases it.
	Lock(name string) (io.Closer, error)
}

// File is an open file of an FS.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Size is the file's length.
	Size() (int64, error)
	// Truncate sets the file's length.
	Truncate(size int64) error
	// Allocate reserves space for length bytes from offset on, which read as zeros, and makes the
	// file that long. It may return an error wrapping errors.ErrUnsupported.
	Allocate(offset, length int64) error
	// Sync makes the file's content and length durable.
	Sync() error
}

// osFS is the operating system's file system.
type osFS struct{}

func (osFS) MkdirAll(dir string) error { return owner.MkdirAll(dir, 0o700) }

func (osFS) ReadDir(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func (osFS) Create(name string) (File, error) {
	f, err := owner.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Open(name string, write bool) (File, error) {
	flag := os.O_RDONLY
	if write {
		flag = os.O_RDWR
	}
	f, err := owner.OpenFile(name, flag, 0)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Named(name string, f File) (bool, error) {
	named, err := os.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	opened, err := f.(osFile).Stat()
	return err == nil && os.SameFile(named, opened), err
}

func (osFS) Rename(from, to string) error { return os.Rename(from, to) }

func (osFS) Remove(name string) error { return os.Remove(name) }

func (osFS) SyncDir(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (osFS) Lock(name string) (io.Closer, error) {
	f, err := owner.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		_ = f.Close() // the lock is what failed
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return fileLock{f}, nil
}

// fileLock releases the lock by name: a process that is just being started shares the open file
// until it runs its program, and would hold the lock as long.
type fileLock struct{ *os.File }

func (l fileLock) Close() error { return errors.Join(unlockFile(l.File), l.File.Close()) }

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f osFile) Allocate(offset, length int64) error { return allocate(f.File, offset, length) }

func (f osFile) Sync() error { return datasync(f.File) }

// writeAll writes b at an offset of f.
func writeAll(f File, b []byte, off int64) error {
	n, err := f.WriteAt(b, off)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return err
}
