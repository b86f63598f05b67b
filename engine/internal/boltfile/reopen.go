package boltfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/rondo-db/rondo/internal/owner"
)

// After an error of a commit nobody knows what the disk holds. A commit writes a meta page last. If
// the sync behind that write fails, the page shows in memory all the same, and the kernel may count
// it as written although it is not. bbolt goes on from either of the two trees. Its next
// transaction may overwrite pages of the other tree, which may be the one that a loss of power
// leaves. So:
//
//  1. Nobody writes the file. Readers go on, and appends go on into the log.
//  2. The meta page that counts, as the file shows it now, is written again and synced. The pages
//     that it leads to were synced before it was first written. Once this succeeds, disk and memory
//     agree.
//  3. The file is opened anew, with the list of free pages that belongs to that meta page. New
//     readers use the new opening.
//  4. The transaction number of that meta page shows whether the failed commit counts, and the
//     caller of Update learns it (conclude).
//  5. When the last reader of the old opening has ended, the old opening is closed and the file may
//     be written again. Before that the new opening would reuse pages that those readers need.
//
// A step that fails is tried again before the next Update. Until an Update succeeds, the caller
// truncates no log. docs/decisions/0015-failed-commits.md weighs the other ways.

// A doubt is a transaction whose commit failed: nobody knows yet whether it counts.
type doubt struct {
	tx       int
	err      error // of its commit
	conclude func(written bool)
}

// readersTime is how long an Update waits for the readers of an opening that was replaced.
const readersTime = 10 * time.Second

// doubted notes a failed commit and tries to find out whether it counts. It returns nil if the
// commit counts. The caller holds writing.
func (f *File) doubted(x *doubt) error {
	f.doubt, f.broken = x, x.err
	f.options.Logger.Error("a commit of the database failed; the file is opened anew before it is written again", "file", f.name, "err", x.err)
	var written *bool
	conclude := x.conclude
	x.conclude = func(w bool) { written = &w; conclude(w) }
	err := f.mend()
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

// Mend makes the file writable again after an error. It does nothing if there was no error.
func (f *File) Mend() error {
	f.writing.Lock()
	defer f.writing.Unlock()
	return f.mend()
}

// mend is Mend for a caller that holds writing.
func (f *File) mend() error {
	if f.broken == nil && !f.current.Load().stuck.Load() {
		return nil
	}
	if f.leaving == nil {
		if err := f.reopen(); err != nil {
			return fmt.Errorf("the database is not written until it could be opened anew: %w", err)
		}
	}
	if !f.leaving.await(readersTime) {
		return errors.New("the database is not written until those have ended who read it since before it was opened anew")
	}
	if err := f.leaving.close(); err != nil {
		f.options.Logger.Warn("close the database's old file", "file", f.name, "err", err)
	}
	f.leaving, f.broken = nil, nil
	return nil
}

// reopen makes memory and disk agree, opens the file anew, and resolves a doubt.
func (f *File) reopen() error {
	old := f.current.Load()
	tx, err := f.rewriteMeta(old)
	if err != nil {
		return err
	}
	if err := f.Ask("reopen"); err != nil {
		return err
	}
	if err := unlock(old.file, old.bolt); err != nil {
		return err
	}
	o, err := f.open(old)
	if err != nil {
		return err
	}
	f.leaving = old
	f.current.Store(o)
	old.retired.Store(true)
	f.reopened.Add(1)
	if x := f.doubt; x != nil {
		f.doubt = nil
		written := tx >= uint64(x.tx)
		f.options.Logger.Info("the database was opened anew", "file", f.name, "transaction", x.tx, "found", tx, "counts", written)
		x.conclude(written)
	}
	return nil
}

// rewriteMeta writes the meta page that counts once more and syncs it. It returns the number of the
// page's transaction.
func (f *File) rewriteMeta(old *opening) (tx uint64, err error) {
	if err := f.Ask("repair"); err != nil {
		return 0, err
	}
	file, err := openSame(f.name, os.O_RDWR, old.info)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	st, err := file.Stat()
	if err != nil {
		return 0, err
	}
	m, at, page, err := newestMeta(file, st.Size())
	if err != nil {
		return 0, err
	}
	page = page[:metaAt+metaBytes]
	if f.options.Fault != nil {
		if err := f.options.Fault("write", file, at, page); err != nil {
			return 0, err
		}
	}
	if _, err := file.WriteAt(page, at); err != nil {
		return 0, err
	}
	if err := f.ask("sync", file, 0); err != nil {
		return 0, err
	}
	return m.tx, file.Sync()
}

// errOtherFile says that the name now belongs to another file.
var errOtherFile = errors.New("another file has taken its place")

// openSame opens the file name, which must still be the file was.
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

// await waits until no reader uses o, at most for limit, and reports whether that is so.
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
