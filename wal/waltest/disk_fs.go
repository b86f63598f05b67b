package waltest

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/rondo-db/rondo/wal"
)

var _ wal.FS = (*Disk)(nil)

// MkdirAll does nothing: every folder exists.
func (d *Disk) MkdirAll(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.look(Op{Kind: "mkdir", Name: dir})
}

// ReadDir lists the files in dir.
func (d *Disk) ReadDir(dir string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.look(Op{Kind: "readdir", Name: dir}); err != nil {
		return nil, err
	}
	var names []string
	for name := range d.names {
		if filepath.Dir(name) == filepath.Clean(dir) {
			names = append(names, filepath.Base(name))
		}
	}
	return names, nil
}

// Create makes an empty file.
func (d *Disk) Create(name string) (wal.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.do(Op{Kind: "create", Name: name}); err != nil {
		return nil, err
	}
	f := &inode{}
	d.rename(map[string]*inode{name: f}, filepath.Dir(name))
	return &file{disk: d, inode: f, name: name, write: true}, nil
}

// Open opens a file.
func (d *Disk) Open(name string, write bool) (wal.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.look(Op{Kind: "open", Name: name}); err != nil {
		return nil, err
	}
	f := d.names[name]
	if f == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &file{disk: d, inode: f, name: name, write: write}, nil
}

// Named says whether name is the name of the open file f.
func (d *Disk) Named(name string, f wal.File) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.look(Op{Kind: "named", Name: name}); err != nil {
		return false, err
	}
	return d.names[name] == f.(*file).inode, nil
}

// Rename gives a file another name.
func (d *Disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.do(Op{Kind: "rename", Name: from}); err != nil {
		return err
	}
	f := d.names[from]
	if f == nil {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	d.rename(map[string]*inode{from: nil, to: f}, filepath.Dir(to))
	return nil
}

// Remove removes a name.
func (d *Disk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.do(Op{Kind: "remove", Name: name}); err != nil {
		return err
	}
	if d.names[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	d.rename(map[string]*inode{name: nil}, filepath.Dir(name))
	return nil
}

// SyncDir makes the names in dir durable.
func (d *Disk) SyncDir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.do(Op{Kind: "syncdir", Name: dir}); err != nil {
		return err
	}
	d.changes = slices.DeleteFunc(d.changes, func(c change) bool {
		if c.dir != filepath.Clean(dir) {
			return false
		}
		c.apply(d.durable)
		return true
	})
	return nil
}

// Lock locks a name. The lock goes with the disk in a power cut.
func (d *Disk) Lock(name string) (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.look(Op{Kind: "lock", Name: name}); err != nil {
		return nil, err
	}
	if d.locked[name] {
		return nil, fmt.Errorf("%s: %w", name, wal.ErrLocked)
	}
	d.locked[name] = true
	return unlock(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.locked[name] = false
	}), nil
}

type unlock func()

func (u unlock) Close() error {
	u()
	return nil
}
