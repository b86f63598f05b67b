package core

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/wal"
)

// A Problem is one thing Check found.
type Problem struct {
	Where string // bucket and key, series, or segment
	What  string

	newer bool // a newer version of rondo wrote it
}

func (p Problem) String() string { return p.Where + ": " + p.What }

const maxProblems = 1000

// A checker walks one transaction.
type checker struct {
	s        *Store
	tx       *boltfile.Tx
	pos      wal.Pos // of the catalogue
	problems []Problem
	blocks   map[string]bool              // keys of rows that a directory names
	lags     map[string]rowblock.LagCount // group and index of series that a directory says lag
	postings map[string]*posting
	members  map[groupID]int   // by group: series that the catalogue has
	broken   map[groupID]bool  // groups whose state cannot be read
	next     map[uint32]uint32 // by class: above every number in use
	top      wal.Pos           // no group may stand for more of the log
}

// Check walks every invariant of the store and returns what it finds broken: the structure of the
// database, names, series and labels against each other, every state record, every row block
// against the directory that names it, and every block of the log. The store stays in use.
func (s *Store) Check(ctx context.Context) ([]Problem, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	c := &checker{
		s: s, blocks: make(map[string]bool), lags: make(map[string]rowblock.LagCount),
		postings: make(map[string]*posting), next: make(map[uint32]uint32),
		members: make(map[groupID]int), broken: make(map[groupID]bool),
	}
	unfit, err := c.structure()
	if err != nil {
		return nil, err
	}
	err = s.db.View(nil, func(tx *boltfile.Tx) error {
		c.tx = tx
		c.meta()
		for _, step := range c.steps() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if b := slices.IndexFunc(step.reads, func(b []byte) bool { return unfit[string(b)] || unfit[""] }); b >= 0 {
				c.add(string(step.reads[b]), "its pages are damaged so that it was not looked into")
			} else if err := s.db.Guard(step.reads[0], func() error { step.run(); return nil }); err != nil {
				c.add(string(step.reads[0]), "not looked into any further: %v", err)
			}
		}
		return nil
	})
	if err != nil {
		return c.problems, err
	}
	if err := s.log.get().Replay(0, func(wal.Pos, []byte) error { return ctx.Err() }); err != nil {
		c.add(dirLog, "%v", err)
	}
	return c.problems, ctx.Err()
}

// A checkStep is a part of Check, and the buckets that it reads.
type checkStep struct {
	run   func()
	reads [][]byte
}

func (c *checker) steps() []checkStep {
	return []checkStep{
		{c.catalogue, [][]byte{bucketNames, bucketSeries, bucketClasses, bucketDefs, bucketMeta}},
		{c.definitions, [][]byte{bucketDefs, bucketClasses}},
		{c.groups, [][]byte{bucketState, bucketSeries}},
		{c.rows, [][]byte{bucketRows}},
		{c.lag, [][]byte{bucketLag}},
		{c.labels, [][]byte{bucketLabels}},
		{c.notes, [][]byte{bucketNotes}},
		{c.metadata, [][]byte{bucketMetadata, bucketMeta}},
	}
}

// structure checks the pages of the database, which nobody may change meanwhile: checkpoints wait.
// It returns the buckets that must not be walked.
func (c *checker) structure() (unfit map[string]bool, err error) {
	c.s.checkpoints.mu.Lock()
	defer c.s.checkpoints.mu.Unlock()
	return c.s.db.Walk(func(bucket, what string) {
		where := fileDB
		if bucket != "" {
			where += ", bucket " + bucket
		}
		c.add(where, "%s", what)
	})
}

func (c *checker) add(where, format string, args ...any) {
	if len(c.problems) >= maxProblems {
		return
	}
	p := Problem{Where: where, What: fmt.Sprintf(format, args...)}
	for _, a := range args {
		if err, ok := a.(error); ok && errors.Is(err, ErrNewer) {
			p.newer = true
		}
	}
	c.problems = append(c.problems, p)
}

// value adds what is wrong with the value of a key. It returns what the value holds, nil if it is
// damaged.
func (c *checker) value(bucket, k, v []byte) []byte {
	b, err := record.CutSum(v, bucket, k)
	if err != nil {
		c.add(string(bucket)+" "+damage.KeyText(k), "%v", err)
		return nil
	}
	return b
}

// meta reads the numbers of the store.
func (c *checker) meta() {
	numbers := make(map[string]uint64)
	for _, key := range metaNumbers {
		n, err := metaNumber(c.tx, key)
		if e, ok := errors.AsType[*DamageError](err); ok {
			c.add("meta "+string(key), "%v", e.Err)
		}
		numbers[string(key)] = n
	}
	if _, err := readStoreID(c.tx); err != nil {
		c.add("meta "+string(metaStore), "%v", errors.Unwrap(err))
	}
	c.pos = wal.Pos(numbers[string(metaCatalogue)])
	c.top = max(wal.Pos(numbers[string(metaGroups)]), c.pos, c.s.log.get().Last())
}

// counted compares a number of the bucket meta with what there is.
func (c *checker) counted(key []byte, n int64, what string) {
	if stored, err := metaNumber(c.tx, key); err == nil && int64(stored) != n {
		c.add("meta "+string(key), "%d, but there are %d %s", stored, n, what)
	}
}
