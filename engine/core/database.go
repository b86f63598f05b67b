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
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/rondo-db/rondo/internal/owner"
)

// This file and database_*.go are the only ones that open bbolt's file and its transactions.
//
// bbolt reads pages where the file is mapped and trusts them. On a damaged page it panics; where
// the file was cut behind its back, the memory access itself fails, which would end the process. So
// everything that may touch a page runs under guard, which turns both into a *DamageError: View and
// Update do it by themselves, and who holds a transaction of begin calls guard around each use of
// it.

// A database is the file of a store, opened. Its methods may be called concurrently.
type database struct {
	name string
	databaseOptions

	current  atomic.Pointer[opening]
	failures atomic.Uint64 // commits that failed
	reopened atomic.Uint64

	trustMu sync.Mutex // guards trusted
	trusted map[string]*pageTrust

	damage *damageSeen // what the checks of pages find

	toldMu sync.Mutex // guards told
	told   map[string]bool

	writing sync.Mutex // one Update at a time; guards what follows
	// broken says why the file must be opened anew before it is written again. See reopen.go.
	broken  error
	doubt   *doubt
	leaving *opening // replaced by current; there may still be readers
}

// databaseOptions say how a file is opened.
type databaseOptions struct {
	readOnly bool
	noSync   bool // commits do not wait for the disk
	logger   *slog.Logger
	// fault, for tests, is asked before steps of a commit, and before calls of rondo's own on the
	// file: open, read, write, sync, rename.
	fault func(op string, f *os.File, off int64, b []byte) error
}

// An opening is the file opened once by bbolt.
type opening struct {
	bolt  *bolt.DB
	file  *os.File // bbolt's
	info  os.FileInfo
	metas *metaPages

	readers atomic.Int64
	retired atomic.Bool
	idle    chan struct{} // told when the last reader leaves a retired opening

	// stuck says that a panic left bbolt's locks taken: no other call of bbolt would return.
	stuck atomic.Bool
}

var errStuck = errors.New("its pages could not be read before, and the file was not opened again since")

// openDatabase opens the file name. It is made if it is not there, unless it is opened to read.
func openDatabase(name string, options databaseOptions) (*database, error) {
	d := &database{name: name, databaseOptions: options}
	o, err := d.open(nil)
	if err != nil {
		return nil, err
	}
	d.current.Store(o)
	return d, nil
}

// open opens the file with bbolt; old is the opening it replaces, or nil.
func (d *database) open(old *opening) (*opening, error) {
	o := &opening{idle: make(chan struct{}, 1)}
	opt := bolt.Options{
		FreelistType: bolt.FreelistMapType, ReadOnly: d.readOnly, NoSync: d.noSync, Timeout: 2 * time.Second,
		NoStatistics: true, // they cost a reading transaction two locks and a dozen additions
	}
	opt.OpenFile = func(name string, flag int, perm fs.FileMode) (f *os.File, err error) {
		if err := d.ask("open"); err != nil {
			return nil, err
		}
		if old != nil {
			f, err = openSame(name, flag&^os.O_CREATE, old.info)
		} else {
			f, err = owner.OpenFile(name, flag, perm)
		}
		o.file = f
		return f, err
	}
	if err := d.checkFile(); err != nil {
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
			o.bolt, err = bolt.Open(d.name, 0o600, &opt)
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
	if o.info, err = o.file.Stat(); err == nil {
		err = d.checkBranches(o.file, o.info.Size())
	}
	if err == nil {
		o.metas, err = mapMetas(o.file, o.bolt.Info().PageSize)
	}
	if err != nil {
		return nil, errors.Join(err, o.bolt.Close())
	}
	return o, nil
}

// checkBranches refuses a file whose pages lead to each other in a circle, which bbolt would follow
// until the stack is full. It reads the branch pages, one in about a hundred.
func (d *database) checkBranches(f *os.File, size int64) error {
	var found []DamageError
	unfit, err := walkPages(f, size, true, func(bucket, what string) {
		found = append(found, DamageError{Bucket: bucket, Err: errors.New(what)})
	})
	for i := range found {
		if err == nil && unfit[found[i].Bucket] {
			err = &found[i]
		}
	}
	return err
}

// openError says of what bbolt refuses whether it is damage.
func openError(err error) error {
	if errors.Is(err, bolterrors.ErrInvalid) || errors.Is(err, bolterrors.ErrChecksum) || errors.Is(err, bolterrors.ErrVersionMismatch) {
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

// guard runs fn, which reads bucket (nil: the file as a whole), and returns what bbolt panics with
// on damaged pages, and a failed access to the mapped file, as a *DamageError. A panic may also be
// a bug; the log gets its stack.
func (d *database) guard(bucket []byte, fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			e := &DamageError{Bucket: string(bucket), Err: panicError{p}}
			d.tell(e)
			err = e
		}
	}()
	return fn()
}

// toldMost bounds how many different panics the log is told of: whoever asks for damaged pages may
// do so often.
const toldMost = 100

// tell logs a panic with its stack, each text once.
func (d *database) tell(e *DamageError) {
	d.toldMu.Lock()
	defer d.toldMu.Unlock()
	text := e.Error()
	if d.told[text] || len(d.told) >= toldMost {
		return
	}
	if d.told == nil {
		d.told = make(map[string]bool)
	}
	d.told[text] = true
	d.logger.Error("the database cannot be read; this is logged once", "file", d.name, "err", e, "stack", string(debug.Stack()))
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

// begin starts a transaction that reads. It must be ended, soon: the pages it sees are not used
// again meanwhile.
func (d *database) begin() (t readTx, err error) {
	o := d.current.Load()
	for {
		o.readers.Add(1)
		now := d.current.Load()
		if now == o {
			break
		}
		o.left()
		o = now
	}
	if t.Tx, err = o.begin(d, false); err != nil {
		o.left()
		return readTx{}, err
	}
	t.from = o
	return t, nil
}

// begin starts a transaction.
func (o *opening) begin(d *database, writable bool) (tx *bolt.Tx, err error) {
	if o.stuck.Load() {
		return nil, &DamageError{Err: errStuck}
	}
	inBolt := false
	err = d.guard(nil, func() (err error) {
		if err := o.metas.check(); err != nil {
			return err
		}
		inBolt = true
		tx, err = o.bolt.Begin(writable)
		inBolt = false
		return err
	})
	if inBolt {
		o.stuck.Store(true)
	}
	return tx, err
}

// left notes that a reader is through with o.
func (o *opening) left() {
	if o.readers.Add(-1) == 0 && o.retired.Load() {
		select {
		case o.idle <- struct{}{}:
		default:
		}
	}
}

// end ends a transaction. The zero readTx has none.
func (t *readTx) end() {
	if t.Tx == nil {
		return
	}
	if !t.from.stuck.Load() {
		_ = t.Rollback() // a read transaction's end has nothing to say
	}
	t.from.left()
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

// Update runs fn, which changes bucket, in a transaction, and makes it durable. An error of fn
// takes all of it back.
//
// conclude (which may be nil) is told once whether the changes are in the database. After an error
// of the disk that may be later than Update returns: when the file could be opened anew. See
// reopen.go.
func (d *database) Update(bucket []byte, fn func(tx *bolt.Tx) error, conclude func(written bool)) error {
	if conclude == nil {
		conclude = func(bool) {}
	}
	d.writing.Lock()
	defer d.writing.Unlock()
	if err := d.mend(); err != nil {
		conclude(false)
		return err
	}
	o := d.current.Load()
	err := checkLength(o.file)
	var tx *bolt.Tx
	if err == nil {
		tx, err = o.begin(d, true)
	}
	if err != nil {
		conclude(false)
		return err
	}
	id := tx.ID()
	if err = d.guard(bucket, func() error { return fn(tx) }); err != nil {
		if errors.Is(err, ErrDamaged) {
			d.broken = err // what bbolt keeps in memory may be half changed
		}
		o.rollback(d, tx)
		conclude(false)
		return err
	}
	err = d.guard(nil, func() error {
		if err := d.ask("commit"); err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		return d.ask("committed")
	})
	if err == nil {
		conclude(true)
		return nil
	}
	o.rollback(d, tx)
	d.failures.Add(1)
	return d.doubted(&doubt{tx: id, err: err, conclude: conclude})
}

// rollback gives up what is left of a transaction: where it panicked it still holds bbolt's lock.
func (o *opening) rollback(d *database, tx *bolt.Tx) {
	through := false
	_ = d.guard(nil, func() error { // a transaction that has ended says so
		_ = tx.Rollback()
		through = true
		return nil
	})
	if !through {
		o.stuck.Store(true)
	}
}

func (d *database) ask(op string) error {
	if d.fault == nil {
		return nil
	}
	return d.fault(op, nil, 0, nil)
}

// size returns the bytes of the pages that are or have been in use, and those of the free ones
// among them. It returns 0 for what cannot be read.
func (d *database) size() (bytes, free int64) {
	for range 10 { // a commit between the transaction's begin and the look at the meta page is rare
		t, err := d.begin()
		if err != nil {
			return 0, 0
		}
		bytes = t.Size()
		m, _, _, err := newestMeta(t.from.file, bytes)
		var list freelist
		if err == nil && m.tx == uint64(t.ID()) { // t keeps the list from being overwritten
			list, err = findFreelist(t.from.file, m)
		}
		id := uint64(t.ID())
		t.end()
		if err != nil || m.tx == id {
			return bytes, int64(list.count) * m.pageSize
		}
	}
	return bytes, 0
}

// Sync makes durable what commits without sync have written.
func (d *database) Sync() error { return d.current.Load().bolt.Sync() }

// walk checks all pages that the newest transaction reaches. Nobody may write meanwhile. report
// takes what is wrong, with the bucket (empty: the file as a whole); unfit names the buckets that
// must not be walked by bbolt.
func (d *database) walk(report func(bucket, what string)) (unfit map[string]bool, err error) {
	f := d.current.Load().file
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return walkPages(f, st.Size(), false, report)
}

// close waits for transactions and closes the file.
func (d *database) close() error {
	d.writing.Lock()
	defer d.writing.Unlock()
	var err error
	if d.leaving != nil {
		err = d.leaving.close()
	}
	return errors.Join(err, d.current.Load().close())
}

// close waits for transactions.
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
