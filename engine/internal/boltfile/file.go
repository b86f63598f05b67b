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

	trustMu sync.Mutex // guards trusted
	trusted map[string]*pageTrust

	toldMu sync.Mutex // guards told
	told   map[string]bool

	writing sync.Mutex // one Update at a time; guards what follows
	// broken says why the file must be opened anew before it is written again. See reopen.go.
	broken  error
	doubt   *doubt
	leaving *opening // replaced by current; it may still have readers
	// unsynced says that the name belongs to another file since the folder was last synced. See
	// compact.go.
	unsynced bool
	parted   []*opening // of files that were replaced; they may still have readers

	compacting atomic.Bool
}

// Options say how a file is opened. The zero Options open it for reading and writing.
type Options struct {
	ReadOnly bool
	NoSync   bool         // commits do not wait for the disk; File.Sync does
	Logger   *slog.Logger // nil: logs are discarded
	Damage   *damage.Seen // told of the damaged pages that transactions meet; nil: nobody is told
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
	// base is added to bbolt's numbers of transactions, so that numbers of a file that takes the
	// place of another go on from there.
	base int

	readers atomic.Int64
	retired atomic.Bool
	idle    chan struct{} // told when the last reader leaves a retired opening

	// stuck says that a panic left bbolt's locks held: any other call of bbolt would hang.
	stuck atomic.Bool

	after error // why this opening took the place of another one, or nil
}

// errStuck says that an opening is stuck.
var errStuck = errors.New("its pages could not be read before, and the file was not opened again since")

// A pageTrust says what is known about the pages of a bucket. See sound.go.
type pageTrust struct {
	asked int
	whole bool
	err   error // damage of any page
}

// Ask calls Options.Fault, if it is set, before a step that is named op.
func (f *File) Ask(op string) error {
	if f.options.Fault == nil {
		return nil
	}
	return f.options.Fault(op, nil, 0, nil)
}

// ask is Ask for a call on a file.
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

// reopenedAfter returns the error after which the file was last opened anew.
func (f *File) reopenedAfter() error { return f.current.Load().after }

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
	for _, o := range f.parted {
		err = errors.Join(err, o.close())
	}
	return errors.Join(err, f.syncName(), f.current.Load().close())
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
