package boltfile

import (
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/internal/damage"
)

// A File is an open database file. Its methods may be called concurrently.
type File struct {
	name    string
	options Options

	current  atomic.Pointer[opening]
	failures atomic.Uint64 // commits that failed
	reopened atomic.Uint64

	loggedMu sync.Mutex // guards logged
	logged   map[string]bool

	writing sync.Mutex // one Update at a time; guards what follows
	// broken says why the file must be opened anew before it is written again. See reopen.go.
	broken  error
	doubt   *doubt
	leaving *opening // replaced by current; it may still have readers
}

// Options say how a file is opened. The zero Options open it for reading and writing.
type Options struct {
	ReadOnly bool
	NoSync   bool         // commits do not wait for the disk; File.Sync does
	Logger   *slog.Logger // nil: logs are discarded
	Damage   *damage.Seen // gets the damaged pages that transactions meet; nil: nobody does
	// Fault is called before each step of a commit and before each call that this package makes on
	// the file: open, read, write, sync, rename. An error of Fault takes the place of the call.
	// Only tests set it.
	Fault func(op string, f *os.File, off int64, b []byte) error
}

// An opening is the file opened once by bbolt. A File has one; while it is reopened it has two.
type opening struct {
	bolt  *bolt.DB
	file  *os.File // bbolt's
	info  os.FileInfo
	metas *metaPages

	readers atomic.Int64
	retired atomic.Bool
	idle    chan struct{} // signalled when the last reader leaves a retired opening

	// stuck says that a panic left bbolt's locks held: any other call of bbolt would hang.
	stuck atomic.Bool
}

var errStuck = errors.New("its pages could not be read before, and the file was not opened again since")

// Ask calls Options.Fault, if it is set, before a step that is named op.
func (f *File) Ask(op string) error { return f.ask(op, nil, 0) }

func (f *File) ask(op string, file *os.File, off int64) error {
	if f.options.Fault == nil {
		return nil
	}
	return f.options.Fault(op, file, off, nil)
}

// SetFault replaces Options.Fault. Only tests call it; no other call may be under way.
func (f *File) SetFault(fault func(op string, f *os.File, off int64, b []byte) error) {
	f.options.Fault = fault
}

// SetNoSync lets commits return before the disk has them. Only tests call it; no other call may be
// under way.
func (f *File) SetNoSync() { f.current.Load().bolt.NoSync = true }

// Failures returns how many commits have failed.
func (f *File) Failures() uint64 { return f.failures.Load() }

// Reopened returns how often the file was opened anew after an error.
func (f *File) Reopened() uint64 { return f.reopened.Load() }

// Readers returns how many reading transactions of the newest opening are open.
func (f *File) Readers() int64 { return f.current.Load().readers.Load() }

// Sync makes durable what commits under Options.NoSync have written.
func (f *File) Sync() error { return f.current.Load().bolt.Sync() }

// Close waits for the transactions to end and closes the file.
func (f *File) Close() error {
	f.writing.Lock()
	defer f.writing.Unlock()
	var err error
	if f.leaving != nil {
		err = f.leaving.close()
	}
	return errors.Join(err, f.current.Load().close())
}

// close waits for the transactions of o to end and closes it.
func (o *opening) close() error {
	o.retired.Store(true)
	for o.readers.Load() > 0 {
		<-o.idle
	}
	o.metas.unmap()
	if o.stuck.Load() { // bbolt's own Close would wait for its locks
		return o.file.Close()
	}
	return o.bolt.Close()
}
