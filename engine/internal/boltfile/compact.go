package boltfile

import (
	"errors"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/internal/owner"
)

// CompactSuffix is what a copy's name has behind the name of the file.
const CompactSuffix = ".compacting"

// compactTx is how many bytes of keys and values Compact copies in one transaction.
const compactTx = 4 << 20

// Compact makes the file name as small as its entries allow. Nobody else may have it open. bbolt
// keeps the pages that it no longer uses in a list of free pages and never makes its file shorter.
// So all entries are copied into a second file, which is synced and then renamed to the name. Both
// hold the same, so it does not matter which of the two a crash leaves. The next Open of the store
// removes a copy that a crash left.
//
// Compact returns the bytes of the file before and afterwards. The error is a *damage.Error if a
// page is damaged: the copy would lack what such a page hides. After an error the file is as it
// was, unless the folder could not be synced. step is called at named steps.
func Compact(name string, o Options, step func(string)) (before, after int64, err error) {
	o.ReadOnly = true
	f, err := Open(name, o)
	if err != nil {
		return 0, 0, err
	}
	before = f.current.Load().info.Size()
	to := name + CompactSuffix
	if err = f.whole(); err == nil {
		err = f.copyTo(to)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		step("compact-copied")
		err = f.Ask("rename")
	}
	if err == nil {
		err = os.Rename(to, name)
	}
	if err != nil {
		if e := os.Remove(to); !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
		return before, before, err
	}
	step("compact-renamed")
	st, err := os.Stat(name)
	if err != nil {
		return before, 0, err
	}
	if err = f.Ask("folder"); err == nil {
		err = owner.SyncFolder(filepath.Dir(name))
	}
	return before, st.Size(), err
}

// whole returns damage of any page.
func (f *File) whole() error {
	var found *damage.Error
	_, err := f.Walk(func(bucket, what string) {
		if found == nil {
			found = &damage.Error{Bucket: bucket, Err: errors.New(what)}
		}
	})
	if err == nil && found != nil {
		return found
	}
	return err
}

// copyTo copies all entries into a new file called name, and makes it durable.
func (f *File) copyTo(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	to, err := Open(name, Options{NoSync: true, Fault: f.options.Fault})
	if err != nil {
		return err
	}
	err = f.Guard(nil, func() error { return bolt.Compact(to.current.Load().bolt, f.current.Load().bolt, compactTx) })
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	return f.trim(name)
}

// trim cuts what bbolt has put behind the last page of the copy called name, and makes it durable.
func (f *File) trim(name string) (err error) {
	file, err := owner.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	m, err := checkLength(file)
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
