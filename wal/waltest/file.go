package waltest

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
	"syscall"
)

// file is an open file of a Disk.
type file struct {
	disk   *Disk
	inode  *inode
	name   string
	write  bool
	closed bool
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.closed {
		return 0, fs.ErrClosed
	}
	if err := f.disk.look(Op{Kind: "read", Name: f.name, Offset: off, Length: int64(len(p))}); err != nil {
		return 0, err
	}
	if off >= int64(len(f.inode.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.inode.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	kept, err := f.change(Op{Kind: "write", Name: f.name, Offset: off, Length: int64(len(p))})
	if err == nil {
		kept, err = f.room(off, len(p))
	}
	if kept == 0 {
		return 0, err
	}
	p = slices.Clone(p[:kept])
	f.inode.data = splice(f.inode.data, off, p)
	f.inode.ops = append(f.inode.ops, edit{off: off, data: p})
	return kept, err
}

// room is how much of a write the disk takes.
func (f *file) room(off int64, n int) (int, error) {
	grows := off + int64(n) - int64(len(f.inode.data))
	if f.disk.Capacity == 0 || grows <= 0 {
		return n, nil
	}
	over := f.disk.used() + grows - f.disk.Capacity
	if over <= 0 {
		return n, nil
	}
	return int(max(0, int64(n)-over)), &fs.PathError{Op: "write", Path: f.name, Err: syscall.ENOSPC}
}

func (f *file) change(op Op) (int, error) {
	if f.closed {
		return 0, fs.ErrClosed
	}
	if !f.write {
		return 0, fmt.Errorf("%s %s: %w", op.Kind, f.name, fs.ErrPermission)
	}
	return f.disk.do(op)
}

func (f *file) Size() (int64, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.look(Op{Kind: "size", Name: f.name}); err != nil {
		return 0, err
	}
	return int64(len(f.inode.data)), nil
}

func (f *file) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if _, err := f.change(Op{Kind: "truncate", Name: f.name, Offset: size}); err != nil {
		return err
	}
	f.resize(size)
	return nil
}

func (f *file) resize(size int64) {
	f.inode.data = resize(f.inode.data, size)
	f.inode.ops = append(f.inode.ops, edit{size: size, cut: true})
}

func (f *file) Allocate(offset, length int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if _, err := f.change(Op{Kind: "allocate", Name: f.name, Offset: offset, Length: length}); err != nil {
		return err
	}
	if _, err := f.room(offset, int(length)); err != nil {
		return err
	}
	f.resize(max(offset+length, int64(len(f.inode.data))))
	return nil
}

// Sync makes the content durable. If it fails, any part of the content has reached the disk and the
// rest never will: the next Sync succeeds without it, as on Linux.
func (f *file) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if _, err := f.change(Op{Kind: "sync", Name: f.name}); err != nil {
		if !f.disk.lost {
			f.inode.disk = f.inode.survive(f.disk.rnd)
			f.inode.ops = nil
		}
		return err
	}
	f.disk.syncs++
	for _, e := range f.inode.ops { // and no more: what a failed Sync forgot stays forgotten
		f.inode.disk = e.apply(f.inode.disk)
	}
	f.inode.ops = nil
	return nil
}

func (f *file) Close() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.closed = true
	return nil
}
