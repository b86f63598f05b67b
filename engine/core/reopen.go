package core

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/rondo-db/rondo/internal/owner"
)

// After an error of a commit nobody knows what the disk holds. The last thing that a commit writes
// is a meta page; where the sync behind it fails, the page shows in memory all the same, and the
// kernel may count it as written although it is not. bbolt goes on from either of the two trees,
// and its next transaction may overwrite pages of the other, which may be the one that a loss of
// power leaves. So:
//
//  1. The file is not written again. Readers go on; appends go on into the log.
//  2. The meta page that counts, as the file shows it now, is written again, and synced. The pages
//     it leads to were synced before it was first written. When this succeeds, disk and memory
//     agree.
//  3. The file is opened anew, with the list of free pages that belongs to that meta page. New
//     readers use it.
//  4. The number of the transaction found tells whether the commit counts, and who waits for that
//     is told.
//  5. When the readers of the old opening are through, the old one is closed and the file may be
//     written again: the new opening does not know which pages they need.
//
// Each step that fails is tried again before the next Update. No log is cut before an Update
// succeeds. docs/decisions/0015-failed-commits.md weighs the other ways.

// A doubt is a transaction of which nobody knows whether it counts.
type doubt struct {
	tx       int
	err      error // of its commit
	conclude func(written bool)
}

// readersTime is how long an Update waits for the readers of an opening that was replaced.
const readersTime = 10 * time.Second

// doubted notes a commit that failed and tries to find out whether it counts. It returns nil if it
// does. The caller holds writing.
func (d *database) doubted(x *doubt) error {
	d.doubt, d.broken = x, x.err
	d.logger.Error("a commit of the database failed; the file is opened anew before it is written again", "file", d.name, "err", x.err)
	var written *bool
	conclude := x.conclude
	x.conclude = func(w bool) { written = &w; conclude(w) }
	err := d.mend()
	switch {
	case written == nil:
		return fmt.Errorf("%w; %w", x.err, err)
	case *written && err == nil:
		return nil
	case *written:
		return err
	}
	return x.err
}

// Mend makes the file fit to be written again after an error, if there was one.
func (d *database) Mend() error {
	d.writing.Lock()
	defer d.writing.Unlock()
	return d.mend()
}

// mend is Mend. The caller holds writing.
func (d *database) mend() error {
	if d.broken == nil && !d.current.Load().stuck.Load() {
		return nil
	}
	if d.leaving == nil {
		if err := d.reopen(); err != nil {
			return fmt.Errorf("the database is not written until it could be opened anew: %w", err)
		}
	}
	if !d.leaving.await(readersTime) {
		return errors.New("the database is not written until those have ended who read it since before it was opened anew")
	}
	if err := d.leaving.close(); err != nil {
		d.logger.Warn("close the database's old file", "file", d.name, "err", err)
	}
	d.leaving, d.broken = nil, nil
	return nil
}

// reopen makes memory and disk agree, opens the file anew, and settles a doubt.
func (d *database) reopen() error {
	old := d.current.Load()
	tx, err := d.repair(old)
	if err != nil {
		return err
	}
	if err := d.ask("reopen"); err != nil {
		return err
	}
	if err := old.unlock(); err != nil {
		return err
	}
	o, err := d.open(old)
	if err != nil {
		return err
	}
	d.leaving = old
	d.current.Store(o)
	old.retired.Store(true)
	d.reopened.Add(1)
	if x := d.doubt; x != nil {
		d.doubt = nil
		written := tx >= uint64(x.tx)
		d.logger.Info("the database was opened anew", "file", d.name, "transaction", x.tx, "found", tx, "counts", written)
		x.conclude(written)
	}
	return nil
}

// repair writes the meta page that counts once more, and syncs it. It returns the number of its
// transaction.
func (d *database) repair(old *opening) (tx uint64, err error) {
	if err := d.ask("repair"); err != nil {
		return 0, err
	}
	f, err := openSame(d.name, os.O_RDWR, old.info)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	m, at, page, err := newestMeta(f, st.Size())
	if err != nil {
		return 0, err
	}
	page = page[:metaAt+metaBytes]
	if d.fault != nil {
		if err := d.fault("write", f, at, page); err != nil {
			return 0, err
		}
	}
	if _, err := f.WriteAt(page, at); err != nil {
		return 0, err
	}
	if err := d.ask("sync"); err != nil {
		return 0, err
	}
	return m.tx, f.Sync()
}

var errOtherFile = errors.New("another file has taken its place")

// openSame opens the file name, which must be the file that was.
func openSame(name string, flag int, was os.FileInfo) (*os.File, error) {
	f, err := owner.OpenFile(name, flag, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !os.SameFile(was, st) {
		err = &fs.PathError{Op: "open", Path: name, Err: errOtherFile}
	}
	if err != nil {
		_ = f.Close() // err is why
		return nil, err
	}
	return f, nil
}

// await waits until no reader uses o.
func (o *opening) await(limit time.Duration) bool {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for o.readers.Load() > 0 {
		select {
		case <-o.idle:
		case <-timeout.C:
			return false
		}
	}
	return true
}
