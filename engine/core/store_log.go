package core

import (
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// A logMark is what the database keeps of its log. With it and with the positions of catalogue and
// groups, Open refuses a log that is missing, that belongs to another database, or that is an older
// copy, even if the files of the log are consistent.
type logMark struct {
	id   wal.ID  // zero: not known
	last wal.Pos // of the log after its last clean end; or logElsewhere
}

// logElsewhere is the position in the mark of a database whose log is not in its folder. Part of
// the format.
const logElsewhere = math.MaxUint64

// append appends the mark as the database has it.
func (m logMark) append(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(append(dst, m.id[:]...), uint64(m.last))
}

// parseLogMark reads what append wrote.
func parseLogMark(b []byte) (m logMark, err error) {
	if len(b) != len(m.id)+8 {
		return m, record.ErrParse
	}
	copy(m.id[:], b)
	m.last = wal.Pos(binary.BigEndian.Uint64(b[len(m.id):]))
	return m, nil
}

// logMark returns the mark of a log that is closed, or that is elsewhere.
func (s *Store) logMark() logMark {
	if s.options.elsewhere() {
		return logMark{s.replica.log(), logElsewhere}
	}
	l := s.log.get()
	return logMark{l.(identifiedLog).ID(), l.Last()}
}

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
		Sync: s.options.Sync, Interval: s.options.SyncInterval, SegmentBytes: segmentBytes, After: max(after, s.logged.last), Log: s.logged.id,
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
func (s *Store) makeLog() (logMark, error) {
	if s.options.elsewhere() {
		return logMark{last: logElsewhere}, nil
	}
	l, err := wal.Open(filepath.Join(s.dir, dirLog), wal.Options{SegmentBytes: segmentBytes, Logger: s.options.Logger, FS: s.options.fs})
	if err != nil {
		return logMark{}, logError(err)
	}
	if err := l.Close(); err != nil {
		return logMark{}, logError(err)
	}
	return logMark{l.ID(), l.Last()}, nil
}

// loadMark reads the mark of the log.
func (s *Store) loadMark(tx *boltfile.Tx) error {
	v, err := tx.Get(bucketMeta, metaLog)
	if err != nil {
		return err
	}
	if s.logged, err = parseLogMark(v); err != nil {
		return damage.InValue(bucketMeta, metaLog, err)
	}
	switch elsewhere := s.logged.last == logElsewhere; {
	case elsewhere && !s.options.elsewhere():
		return invalid("the log of the database is not in its folder: it is a replica of a partition")
	case elsewhere:
		s.replica.id = s.logged.id
	case s.options.elsewhere():
		return invalid("the log of the database is in its folder, not where the options say")
	}
	return nil
}

func putMark(tx *boltfile.Tx, m logMark) error { return tx.Put(bucketMeta, metaLog, m.append(nil)) }

// sealLog closes the log and notes in the database where it ends. A store that was opened for one
// command relies on the mark in the log's own folder instead: a transaction would cost more than
// the command.
func (s *Store) sealLog() error {
	if err := s.log.get().Close(); err != nil {
		return err
	}
	m := s.logMark()
	if m == s.logged || s.options.NoBackground {
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
