package boltfile

import (
	"errors"
	"iter"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/internal/damage"
)

// MaxKey is the length of the longest key, in bytes.
const MaxKey = bolt.MaxKeySize

// FillDefault is how full bbolt leaves pages, unless a Bucket's FillPercent says otherwise.
const FillDefault = bolt.DefaultFillPercent

// A Bucket is one key space of the database. Its values are raw: with their checksums.
type Bucket = bolt.Bucket

// A Cursor steps through the keys of a Bucket in order.
type Cursor = bolt.Cursor

// A Tx is a transaction. View and Update guard the use of theirs. The pages of a Tx that Begin
// returned may be touched within File.Guard only. The zero Tx is no transaction.
type Tx struct {
	tx   *bolt.Tx
	from *opening
	file *File
}

// Open reports whether t is a transaction that has not ended.
func (t *Tx) Open() bool { return t.tx != nil }

// ID returns the number of the transaction: a reader has the number of the newest one it sees.
func (t *Tx) ID() int { return t.tx.ID() }

// Bucket returns the bucket name, or nil if the database does not have it.
func (t *Tx) Bucket(name []byte) *Bucket { return t.tx.Bucket(name) }

// Each yields the keys of the bucket name in order, with their raw values.
func (t *Tx) Each(name []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		c := t.tx.Bucket(name).Cursor()
		for k, v := c.First(); k != nil && yield(k, v); k, v = c.Next() {
		}
	}
}

// MakeBucket returns the bucket name, and makes it if the database does not have it.
func (t *Tx) MakeBucket(name []byte) (*Bucket, error) { return t.tx.CreateBucketIfNotExists(name) }

// Begin starts a transaction that reads. The caller ends it soon: pages that the transaction sees
// are not reused before.
func (f *File) Begin() (t Tx, err error) {
	o := f.current.Load()
	for {
		o.readers.Add(1)
		now := f.current.Load()
		if now == o {
			break
		}
		o.left()
		o = now
	}
	if t.tx, err = f.begin(o, false); err != nil {
		o.left()
		return Tx{}, err
	}
	t.from, t.file = o, f
	return t, nil
}

// begin starts a transaction of bbolt.
func (f *File) begin(o *opening, writable bool) (tx *bolt.Tx, err error) {
	if o.stuck.Load() {
		return nil, &damage.Error{Err: errStuck}
	}
	inBolt := false
	err = f.Guard(nil, func() (err error) {
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

// left notes that a reader no longer uses o.
func (o *opening) left() {
	if o.readers.Add(-1) == 0 && o.retired.Load() {
		select {
		case o.idle <- struct{}{}:
		default:
		}
	}
}

// End ends a transaction that Begin started. It does nothing if t is not Open.
func (t *Tx) End() {
	if t.tx == nil {
		return
	}
	if !t.from.stuck.Load() {
		_ = t.tx.Rollback() // ending a read transaction cannot fail in a way that matters
	}
	t.from.left()
	*t = Tx{}
}

// View runs fn, which reads bucket (nil: several), with a transaction.
func (f *File) View(bucket []byte, fn func(tx *Tx) error) error {
	t, err := f.Begin()
	if err != nil {
		return err
	}
	defer t.End()
	return f.Guard(bucket, func() error { return fn(&t) })
}

// Update runs fn, which changes bucket (nil: several), in a transaction, and makes the changes
// durable. An error of fn undoes all of them.
//
// conclude, which may be nil, is called once, with whether the changes are in the database. After a
// failed commit that may be later than Update returns: when the file could be opened anew. See
// reopen.go.
func (f *File) Update(bucket []byte, fn func(tx *Tx) error, conclude func(written bool)) error {
	if conclude == nil {
		conclude = func(bool) {}
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	if err := f.mend(); err != nil {
		conclude(false)
		return err
	}
	o := f.current.Load()
	_, err := checkLength(o.file)
	t := Tx{from: o, file: f}
	if err == nil {
		t.tx, err = f.begin(o, true)
	}
	if err != nil {
		conclude(false)
		return err
	}
	id := t.tx.ID()
	if err = f.Guard(bucket, func() error { return fn(&t) }); err != nil {
		if errors.Is(err, damage.ErrDamaged) {
			f.broken = err // what bbolt keeps in memory may be half changed
		}
		f.rollback(o, t.tx)
		conclude(false)
		return err
	}
	err = f.Guard(nil, func() error {
		if err := f.Ask("commit"); err != nil {
			return err
		}
		if err := t.tx.Commit(); err != nil {
			return err
		}
		return f.Ask("committed")
	})
	if err == nil {
		conclude(true)
		return nil
	}
	f.rollback(o, t.tx)
	f.failures.Add(1)
	return f.doubted(&doubt{tx: id, err: err, conclude: conclude})
}

// rollback gives up a transaction. If it panicked it still holds bbolt's lock, and o is stuck if
// the lock cannot be released.
func (f *File) rollback(o *opening, tx *bolt.Tx) {
	ended := false
	_ = f.Guard(nil, func() error { // a transaction that has ended already says so
		_ = tx.Rollback()
		ended = true
		return nil
	})
	if !ended {
		o.stuck.Store(true)
	}
}
