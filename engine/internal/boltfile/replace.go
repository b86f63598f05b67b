package boltfile

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/rondo-db/rondo/internal/owner"
)

// trim cuts what bbolt has put behind the last page of the copy called name, and makes it durable.
func (f *File) trim(name string) (err error) {
	file, err := owner.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	st, err := file.Stat()
	if err != nil {
		return err
	}
	m, err := wholeMeta(file, st.Size())
	if err != nil {
		return err
	}
	size := int64(m.pages) * m.pageSize
	if err := f.ask("truncate", file, size); err != nil {
		return err
	}
	if err := file.Truncate(size); err != nil {
		return err
	}
	if err := f.ask("sync", file, 0); err != nil {
		return err
	}
	return file.Sync()
}

// replace renames the copy called name to the file's name and lets new transactions use it. seen is
// the number of the transaction that shows what the copy holds. The caller holds writing.
func (f *File) replace(name string, seen int, renamed func()) error {
	old := f.current.Load()
	o, err := f.openAs(name, nil)
	if err != nil {
		return err
	}
	m, _, _, err := newestMeta(o.file, o.info.Size())
	if err == nil {
		err = f.Ask("rename")
	}
	if err == nil {
		err = os.Rename(name, f.name)
	}
	if err != nil {
		return errors.Join(err, o.close())
	}
	o.base = seen - int(m.tx) // the newest transaction of the copy gets the number seen
	f.trustMu.Lock()
	f.trusted = nil
	f.trustMu.Unlock()
	f.current.Store(o)
	old.retired.Store(true)
	f.parted = append(f.parted, old)
	f.unsynced = true
	renamed()
	if err := f.syncName(); err != nil {
		f.options.Logger.Error("the database was compacted, and is not written until its folder could be synced", "file", f.name, "err", err)
	}
	return nil
}

// syncName makes durable which file has the name. Until that has succeeded nobody writes: a loss of
// power might bring the old file back, and the log would have been truncated to what the new one
// holds. The caller holds writing.
func (f *File) syncName() error {
	if !f.unsynced {
		return nil
	}
	if err := f.Ask("folder"); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(f.name))
	if err != nil {
		return err
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return err
	}
	f.unsynced = false
	return nil
}

// closeParted closes the openings of files that were replaced and have no reader any more. The
// caller holds writing.
func (f *File) closeParted() {
	var left []*opening
	for _, o := range f.parted {
		if o.readers.Load() > 0 {
			left = append(left, o)
		} else if err := o.close(); err != nil {
			f.options.Logger.Warn("close the database's old file", "file", f.name, "err", err)
		}
	}
	f.parted = left
}
