package boltfile

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Compact makes the file as small as its entries allow, while others read and write it. bbolt keeps
// the pages that it no longer uses in a list of free pages and never makes its file shorter. So:
//
//  1. A reader pins what the file holds. All buckets are copied into a second file, a slice of a
//     few megabytes in each transaction of that file.
//  2. Meanwhile others have written. The next reader pins the newest state, and what differs from
//     the one before is brought to the copy: see difference.go. This is repeated until little is
//     left.
//  3. Nobody writes for a moment. The last difference is brought to the copy. The copy is synced,
//     opened, and renamed to the file's name.
//  4. New readers use the copy. Readers of the old file finish there; its space is free when the
//     last of them has ended.
//
// Both files hold the same at the rename. So it does not matter which of the two a crash leaves, as
// long as nobody writes before the folder is synced: see File.syncName. The next Open of the store
// removes a copy that a crash left.

// CompactSuffix is what a copy's name has behind the name of the file.
const CompactSuffix = ".compacting"

// roundsMost is how often differences are brought while others write, before they must wait. A
// difference of less than two slices needs no further round.
const roundsMost = 8

// ErrCompacting says that a Compact is under way.
var ErrCompacting = errors.New("the database is being compacted already")

// A Compaction says how Compact works. All functions must be set.
type Compaction struct {
	// Slice is how many bytes of keys and values a transaction of the copy has, about.
	Slice int
	// Fill returns how full the pages of a bucket become, above 0 and at most 1.
	Fill func(bucket []byte) float64
	// Between is called after each slice, with its bytes. It may wait. Its error ends the
	// compaction.
	Between func(ctx context.Context, bytes int) error
	// Hold keeps others from walking the file, until release is called.
	Hold func() (release func())
	// Step is called at named steps.
	Step func(name string)
}

// A compaction is a Compact under way.
type compaction struct {
	Compaction
	f     *File
	name  string // of the copy
	to    *File
	from  *opening
	seen  Tx // what the copy holds; not open: nothing
	moved int64

	slice []change
	bytes int
	last  bool // nobody writes: be quick
}

// Compact makes the file smaller. It returns the bytes of the file before and afterwards. After an
// error the file is as it was. If the copy has taken the file's place and the folder could not be
// synced, that is logged, and nobody writes the file until the folder could be synced.
func (f *File) Compact(ctx context.Context, o Compaction) (before, after int64, err error) {
	if !f.compacting.CompareAndSwap(false, true) {
		return 0, 0, ErrCompacting
	}
	defer f.compacting.Store(false)
	c := &compaction{Compaction: o, f: f, name: f.name + CompactSuffix, from: f.current.Load()}
	defer func() { c.seen.End() }()
	if before, err = c.from.length(); err != nil {
		return 0, 0, err
	}
	if err = c.copy(ctx); err == nil {
		err = c.finish(ctx)
	}
	if c.to != nil { // not put in place
		err = errors.Join(err, c.to.Close())
	}
	c.seen.End()
	if err != nil {
		if e := os.Remove(c.name); !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
		return before, before, err
	}
	c.from.await(readersTime) // its space is free then; otherwise a later Update closes it
	f.writing.Lock()
	f.closeParted()
	f.writing.Unlock()
	after, err = f.current.Load().length()
	return before, after, err
}

// length returns the bytes of an opening's file.
func (o *opening) length() (int64, error) {
	st, err := o.file.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// copy makes the second file and brings it near to the first.
func (c *compaction) copy(ctx context.Context) (err error) {
	if err := os.Remove(c.name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if c.to, err = Open(c.name, Options{NoSync: true, Fault: c.f.options.Fault}); err != nil {
		return err
	}
	for range roundsMost {
		moved := c.moved
		if err := c.bring(ctx); err != nil {
			return err
		}
		c.Step("compact-round")
		if c.moved-moved < int64(2*c.Slice) {
			break
		}
	}
	return nil
}

// finish brings the last difference while nobody writes, and puts the copy in place.
func (c *compaction) finish(ctx context.Context) error {
	defer c.Hold()()
	c.f.writing.Lock()
	defer c.f.writing.Unlock()
	if err := c.f.mend(); err != nil {
		return err
	}
	c.last = true
	if err := c.bring(ctx); err != nil {
		return err
	}
	c.Step("compact-copied")
	to := c.to
	c.to = nil
	if err := errors.Join(to.Sync(), to.Close()); err != nil {
		return err
	}
	if err := c.f.trim(c.name); err != nil {
		return err
	}
	return c.f.replace(c.name, c.seen.ID(), func() { c.Step("compact-renamed") })
}

// bring brings what has changed since seen to the copy. Afterwards seen is what the copy holds.
func (c *compaction) bring(ctx context.Context) error {
	now, err := c.f.Begin()
	if err != nil {
		return err
	}
	defer func() { now.End() }()
	if err := c.same(&now); err != nil {
		return err
	}
	err = c.f.Guard(nil, func() error {
		return now.buckets(func(name []byte) error {
			return difference(&c.seen, &now, name, func(x change) error { return c.add(ctx, x) })
		})
	})
	if err == nil {
		err = c.flush(ctx)
	}
	if err != nil {
		return err
	}
	c.seen.End()
	c.seen, now = now, Tx{}
	return nil
}

// same refuses to go on when the file was opened anew after an error.
func (c *compaction) same(now *Tx) error {
	if now.from != c.from || c.f.current.Load() != c.from {
		return fmt.Errorf("the database was opened anew while it was being compacted, after this error: %w", c.f.reopenedAfter())
	}
	return nil
}

// add takes a change, and writes a slice when there is enough for one.
func (c *compaction) add(ctx context.Context, x change) error {
	c.slice = append(c.slice, x)
	if c.bytes += len(x.k) + len(x.v); c.bytes < c.Slice {
		return nil
	}
	return c.flush(ctx)
}

// flush writes a slice.
func (c *compaction) flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(c.slice) == 0 {
		return nil
	}
	err := c.to.Update(nil, func(tx *Tx) error {
		for _, x := range c.slice {
			if err := c.apply(tx, x); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	if err == nil {
		err = c.to.Sync()
	}
	if err != nil {
		return err
	}
	c.to.DropMapping()
	bytes := c.bytes
	c.moved += int64(bytes)
	clear(c.slice)
	c.slice, c.bytes = c.slice[:0], 0
	c.Step("compact-slice")
	if c.last {
		return nil
	}
	if err := c.same(&Tx{from: c.from}); err != nil {
		return err
	}
	return c.Between(ctx, bytes)
}

// apply makes one change of the copy.
func (c *compaction) apply(tx *Tx, x change) error {
	b, err := tx.MakeBucket(x.bucket)
	if err != nil || x.k == nil {
		return err
	}
	b.FillPercent = c.Fill(x.bucket)
	if x.deletes {
		return b.Delete(x.k)
	}
	return b.Put(x.k, x.v)
}
