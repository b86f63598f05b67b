package core

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
)

// This file and database_*.go are the only ones that open bbolt's file and its transactions.
//
// bbolt reads pages where the file is mapped and trusts them. On a damaged page it panics; where the file
// was cut behind its back, the memory access itself fails, which would end the process. So everything that
// may touch a page runs under guard, which turns both into a *DamageError: View and Update do it by
// themselves, and who holds a transaction of begin calls guard around each use of it.

// A database is the file of a store, opened. Its methods may be called concurrently.
type database struct {
	name   string
	logger *slog.Logger

	current atomic.Pointer[opening]
	writing sync.Mutex // one Update at a time
}

// An opening is the file opened once by bbolt.
type opening struct {
	bolt  *bolt.DB
	file  *os.File // bbolt's
	metas *metaPages
	// stuck says that a panic left bbolt's locks taken: no other call of bbolt would return.
	stuck atomic.Bool
}

var errStuck = errors.New("its pages could not be read before, and the file was not opened again since")

// openDatabase opens the file name, which is made if it is not there, unless it is opened to read. With noSync
// commits do not wait for the disk.
func openDatabase(name string, readOnly, noSync bool, logger *slog.Logger) (*database, error) {
	d := &database{name: name, logger: logger}
	o, err := d.open(bolt.Options{FreelistType: bolt.FreelistMapType, ReadOnly: readOnly, NoSync: noSync, Timeout: 2 * time.Second})
	if err != nil {
		return nil, err
	}
	d.current.Store(o)
	return d, nil
}

// open opens the file with bbolt.
func (d *database) open(opt bolt.Options) (*opening, error) {
	o := new(opening)
	opt.OpenFile = func(name string, flag int, perm fs.FileMode) (f *os.File, err error) {
		f, err = os.OpenFile(name, flag, perm)
		o.file = f
		return f, err
	}
	if err := checkFile(d.name); err != nil {
		return nil, err
	}
	// Address space, not memory: to grow a mapping bbolt waits for all readers. A process short of
	// address space gets less.
	for _, size := range mapSizes() {
		if !opt.ReadOnly {
			opt.InitialMmapSize = size
		}
		var err error
		damage := d.guard(nil, func() error {
			o.bolt, err = bolt.Open(d.name, 0o644, &opt)
			return nil
		})
		if damage != nil { // bbolt had no occasion to close it
			_ = o.file.Close()
			return nil, damage
		}
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.ENOMEM) || size == 0 {
			return nil, openError(err)
		}
	}
	var err error
	if err = d.checkBranches(o.file); err == nil {
		o.metas, err = mapMetas(o.file, o.bolt.Info().PageSize)
	}
	if err != nil {
		return nil, errors.Join(err, o.bolt.Close())
	}
	return o, nil
}

// checkBranches refuses a file whose pages lead to each other in a circle, which bbolt would follow until the
// stack is full. It reads the branch pages, one in about a hundred.
func (d *database) checkBranches(f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	var found []DamageError
	endless, err := walkPages(f, st.Size(), true, func(bucket, what string) {
		found = append(found, DamageError{Bucket: bucket, Err: errors.New(what)})
	})
	for i := range found {
		if err == nil && endless[found[i].Bucket] {
			err = &found[i]
		}
	}
	return err
}

// openError says of what bbolt refuses whether it is damage.
func openError(err error) error {
	if errors.Is(err, bolt.ErrInvalid) || errors.Is(err, bolt.ErrChecksum) || errors.Is(err, bolt.ErrVersionMismatch) {
		return &DamageError{Err: err}
	}
	return err
}

// mapSizes are the sizes of mapping to try, in bytes. Windows would make the file as large.
func mapSizes() []int {
	if strconv.IntSize < 64 || !mapsSparsely {
		return []int{0}
	}
	return []int{1 << (strconv.IntSize - 29), 0}
}

// guard runs fn, which reads bucket (nil: the file as a whole), and returns what bbolt panics with on damaged
// pages, and a failed access to the mapped file, as a *DamageError. A panic may also be a bug; the log gets its stack.
func (d *database) guard(bucket []byte, fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			e := &DamageError{Bucket: string(bucket), Err: panicError{p}}
			d.logger.Error("the database cannot be read", "file", d.name, "err", e, "stack", string(debug.Stack()))
			err = e
		}
	}()
	return fn()
}

// A panicError is what was recovered from a panic.
type panicError struct{ value any }

func (e panicError) Error() string {
	if f, ok := e.value.(interface{ Addr() uintptr }); ok {
		return fmt.Sprintf("the file is shorter than its pages, or the disk cannot read it (%v at %#x)", e.value, f.Addr())
	}
	return fmt.Sprint(e.value)
}

// A readTx is a transaction that reads. Its pages may be touched under guard only.
type readTx struct {
	*bolt.Tx
	from *opening
}

// begin starts a transaction that reads. It must be ended, soon: the pages it sees are not used again meanwhile.
func (d *database) begin() (t readTx, err error) {
	o := d.current.Load()
	t.from = o
	if o.stuck.Load() {
		return t, &DamageError{Err: errStuck}
	}
	var failure error
	err = d.guard(nil, func() error {
		if err := o.metas.check(); err != nil {
			return err
		}
		failure = errStuck
		t.Tx, failure = o.bolt.Begin(false)
		return failure
	})
	if err != nil && failure == errStuck {
		o.stuck.Store(true)
	}
	return t, err
}

// end ends a transaction. The zero readTx has none.
func (t *readTx) end() {
	if t.Tx != nil && !t.from.stuck.Load() {
		_ = t.Rollback() // a read transaction's end has nothing to say
	}
	*t = readTx{}
}

// View runs fn, which reads bucket, with a transaction.
func (d *database) View(bucket []byte, fn func(tx *bolt.Tx) error) error {
	t, err := d.begin()
	if err != nil {
		return err
	}
	defer t.end()
	return d.guard(bucket, func() error { return fn(t.Tx) })
}

// Update runs fn, which changes bucket, in a transaction, and makes it durable. An error of fn takes all of it back.
func (d *database) Update(bucket []byte, fn func(tx *bolt.Tx) error) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	o := d.current.Load()
	if o.stuck.Load() {
		return &DamageError{Err: errStuck}
	}
	var tx *bolt.Tx
	var failure error
	err := d.guard(nil, func() error {
		if err := o.metas.check(); err != nil {
			return err
		}
		failure = errStuck
		tx, failure = o.bolt.Begin(true)
		return failure
	})
	if err != nil {
		if failure == errStuck {
			o.stuck.Store(true)
		}
		return err
	}
	if err = d.guard(bucket, func() error { return fn(tx) }); err == nil {
		err = d.guard(nil, tx.Commit)
	}
	if err != nil {
		// Where it panicked, the transaction still holds bbolt's lock; where not, it has ended and this does nothing.
		if d.guard(nil, func() error { _ = tx.Rollback(); return nil }) != nil {
			o.stuck.Store(true)
		}
	}
	return err
}

// size returns the length of the file in bytes, and the bytes of its free pages.
func (d *database) size() (bytes, free int64) {
	t, err := d.begin()
	if err != nil {
		return 0, 0
	}
	defer t.end()
	return t.Size(), int64(t.from.bolt.Stats().FreeAlloc)
}

// Sync makes durable what commits without sync have written.
func (d *database) Sync() error { return d.current.Load().bolt.Sync() }

// walk checks all pages that the newest transaction reaches. Nobody may write meanwhile. report takes what is wrong,
// with the bucket (empty: the file as a whole); endless names the buckets that must not be walked by bbolt.
func (d *database) walk(report func(bucket, what string)) (endless map[string]bool, err error) {
	f := d.current.Load().file
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return walkPages(f, st.Size(), false, report)
}

// close waits for transactions and closes the file.
func (d *database) close() error {
	o := d.current.Load()
	o.metas.unmap()
	if o.stuck.Load() { // bbolt's own Close would wait for its locks
		return o.file.Close()
	}
	return o.bolt.Close()
}
