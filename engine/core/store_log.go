package core

import (
	"errors"
	"math"
	"path/filepath"
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/wal"
)

// The database keeps a mark of its log (wal.Mark): which log it is, and how far the log reached at
// the last checkpoint or clean end. So Open refuses a log that is missing, that belongs to another
// database, or that is an older copy, even if the files of the log are consistent.

// logElsewhere is the segment in the mark of a database whose log is not in its folder. Beside it
// the mark has the identity of the log, or zeros as long as that is not known. Part of the format.
const logElsewhere = math.MaxUint64

// elsewhere says whether the log is not in the folder of the store.
func (o *Options) elsewhere() bool { return o.OpenLog != nil || o.Follow != nil }

// segmentBytes is the size of a segment of the log. A checkpoint frees whole segments.
const segmentBytes = 16 << 20

// metaLog is the key of the mark in meta, part of the format.
var metaLog = []byte("log")

// openLog opens the log, whose next record must have a position above after. It refuses a log that
// lacks records that the database knows it held. It then writes nothing, so that the missing part
// can be put back.
func (s *Store) openLog(after wal.Pos) (err error) {
	if s.options.elsewhere() {
		l, err := s.options.OpenLog(after, s.appender.durable)
		if err != nil {
			return err
		}
		s.log.set(l)
		return s.replica.meet(l)
	}
	l, err := wal.Open(filepath.Join(s.dir, dirLog), wal.Options{
		Sync: s.options.Sync, Interval: s.options.SyncInterval, SegmentBytes: segmentBytes, After: after, Holds: s.holds,
		OnDurable: s.appender.durable, ReadOnly: s.options.ReadOnly, FailFast: true, Logger: s.options.Logger, FS: s.options.fs,
	})
	if err == nil && s.options.ReadOnly {
		if err = l.Whole(); err != nil {
			err = errors.Join(err, l.Close())
		}
	}
	if err == nil {
		s.log.set(l)
	}
	return err
}

// makeLog makes the log of a new database, or finds a log whose database is lost, and returns its
// mark.
func (s *Store) makeLog() (wal.Mark, error) {
	if s.options.elsewhere() {
		return wal.Mark{Segment: logElsewhere}, nil
	}
	l, err := wal.Open(filepath.Join(s.dir, dirLog), wal.Options{SegmentBytes: segmentBytes, Logger: s.options.Logger, FS: s.options.fs})
	if err != nil {
		return wal.Mark{}, logError(err)
	}
	if err := l.Close(); err != nil {
		return wal.Mark{}, logError(err)
	}
	return l.Mark(), nil
}

// loadMark reads the mark of the log.
func (s *Store) loadMark(tx *boltfile.Tx) error {
	v, err := tx.Get(bucketMeta, metaLog)
	if err != nil {
		return err
	}
	if err := s.holds.UnmarshalBinary(v); err != nil {
		return damage.InValue(bucketMeta, metaLog, err)
	}
	switch s.options.elsewhere() {
	case true:
		if s.holds.Segment != logElsewhere {
			return invalid("the log of the database is in its folder, not where the options say")
		}
		s.replica.id = s.holds.Log
	case false:
		if s.holds.Segment == logElsewhere {
			return invalid("the log of the database is not in its folder: it is a replica of a partition")
		}
	}
	return nil
}

func putMark(tx *boltfile.Tx, m wal.Mark) error {
	b, err := m.AppendBinary(nil)
	if err != nil {
		return err
	}
	return tx.Put(bucketMeta, metaLog, b)
}

// sealLog closes the log and notes in the database where it ends. A store that was opened for one
// command relies on the mark in the log's own folder instead: a transaction would cost more than
// the command.
func (s *Store) sealLog() error {
	if err := s.log.get().Close(); err != nil {
		return err
	}
	m := s.logMark()
	if m == s.holds || s.options.NoBackground {
		return nil
	}
	return s.unlessFull(s.db.Update(bucketMeta, func(tx *boltfile.Tx) error { return putMark(tx, m) }, nil))
}

// A currentLog is the log that a store uses now. A change of the role replaces it, while the
// appender's mu is held.
type currentLog struct{ p atomic.Pointer[Log] }

// get returns the log; nil: none was opened.
func (c *currentLog) get() Log {
	if l := c.p.Load(); l != nil {
		return *l
	}
	return nil
}

func (c *currentLog) set(l Log) { c.p.Store(&l) }
