package core

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// A log that still has its first record has everything that was ever stored. So what a repair
// would lose, or cannot mend, of such a store costs nothing: the whole database is made anew from
// the log. The damaged file proves that it is the right log, and that the log reaches far enough.

// A logProof is what a damaged file tells of its log.
type logProof struct {
	marked bool
	mark   wal.Mark
	told   bool    // last is known, at least of the catalogue or the groups
	last   wal.Pos // the log reaches up to here at least
}

// prove reads the proof from what was copied of the damaged file.
func (r *repairing) prove() error {
	return r.s.db.View(nil, func(tx *boltfile.Tx) error {
		if tx.Bucket(bucketMeta) == nil {
			return nil
		}
		if v, err := tx.Get(bucketMeta, metaLog); err == nil && r.proof.mark.UnmarshalBinary(v) == nil {
			r.proof.marked = true
		}
		for _, key := range [][]byte{metaCatalogue, metaGroups} {
			if n, err := metaNumber(tx, key); err == nil {
				r.proof.told, r.proof.last = true, max(r.proof.last, wal.Pos(n))
			}
		}
		r.proof.last = max(r.proof.last, newestState(tx))
		return nil
	})
}

// newestState is the highest log position that a state record stands for.
func newestState(tx *boltfile.Tx) (top wal.Pos) {
	b := tx.Bucket(bucketState)
	if b == nil {
		return 0
	}
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if b, err := record.CutSum(v, bucketState, k); err == nil && len(b) > 0 {
			top = max(top, statePos(b))
		}
	}
	return top
}

// wholeLog says whether the log has everything, and returns its mark.
func (r *repairing) wholeLog(dir string) (mark wal.Mark, whole bool) {
	p := &r.proof
	if !p.told {
		return mark, false
	}
	o := wal.Options{ReadOnly: true, After: p.last}
	if p.marked {
		o.Holds = p.mark
	}
	l, err := wal.Open(filepath.Join(dir, dirLog), o)
	if err != nil {
		return mark, false
	}
	defer func() { _ = l.Close() }() // it was only read
	if l.First() != 1 || l.Last() < p.last || l.Whole() != nil {
		return mark, false
	}
	next := wal.Pos(1)
	err = l.Replay(1, func(p wal.Pos, _ []byte) error {
		if p != next {
			return fmt.Errorf("%w: record %d is missing", wal.ErrHole, next)
		}
		next++
		return nil
	})
	return l.Marked(), err == nil && next == l.Last()+1
}

// fromLog makes the new file empty, so that all of it comes from the log.
func (r *repairing) fromLog(fresh string, mark wal.Mark) (err error) {
	if err := os.Remove(fresh); err != nil {
		return err
	}
	db, err := boltfile.Open(fresh, boltfile.Options{Logger: r.s.options.Logger, NoSync: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Update(nil, func(tx *boltfile.Tx) error { return makeBuckets(tx, mark) }, nil); err != nil {
		return err
	}
	r.beginAnew()
	r.stirred = true // all of it
	r.done("all of the database is made anew from the log, which has everything since its first record")
	return db.Sync()
}
