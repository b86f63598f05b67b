package detour

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/internal/owner"
	"github.com/rondo-db/rondo/wal"
)

// Names in the spool's folder.
const (
	partPrefix    = "p"
	doneSuffix    = ".done"    // all was delivered: to be removed
	damagedSuffix = ".damaged" // set aside, for somebody to look at
)

func partName(n int) string { return fmt.Sprintf("%s%04d", partPrefix, n) }

const (
	// recordBytes is the size from which on the samples of a part go into another record.
	recordBytes = 256 << 10
	// segmentBytes is small: the log gives back room by segments.
	segmentBytes = 4 << 20
)

// Why the spool does not take a sample.
var (
	errFull      = errors.New("spool is full")
	errNewSeries = errors.New("spool takes no new series")
	errClosed    = errors.New("spool is closed")
)

// A spool is what all backlogs share.
type spool struct {
	counters
	o     Options
	lines loglimit.Limit[string]

	held    atomic.Int64     // bytes that are kept or about to be
	slots   chan struct{}    // has one value for each delivery at hand
	deliver func(b *backlog) // begins to deliver
}

// A backlog is the samples of one partition in the spool.
type backlog struct {
	s   *spool
	p   int
	dir string

	since atomic.Int64 // when the oldest sample came, in microseconds since 1970; 0: there is none
	bytes atomic.Int64 // of spool.held

	next wal.Pos // the first record not delivered; of the goroutine that delivers, and of load

	logMu  sync.Mutex      // guards what follows; held while a record is written
	log    *wal.Log        // nil: there is nothing
	made   map[string]bool // series that samples in the log say how to make
	buf    []byte
	sealed bool // nothing is kept any more
}

// left returns for which partitions the folder of the spool has samples.
func (s *spool) left() (list []bool, err error) {
	if s.o.Bytes == 0 {
		return nil, nil
	}
	if err := owner.MkdirAll(s.o.Dir, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(s.o.Dir)
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, doneSuffix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.o.Dir, name)))
		}
		p, bad := strconv.Atoi(strings.TrimPrefix(name, partPrefix))
		if bad != nil || name != partName(p) || p < 0 || p >= router.MaxPartitions {
			continue // not of a spool, or set aside
		}
		list = append(list, make([]bool, max(0, p+1-len(list)))...)
		list[p] = true
	}
	return list, err
}

// openLog opens the log. b.logMu is held.
func (b *backlog) openLog() error {
	if b.sealed {
		return errClosed
	}
	log, err := wal.Open(b.dir, wal.Options{
		Sync: wal.SyncInterval, SegmentBytes: segmentBytes, DisablePreallocate: true, Logger: b.s.o.Logger,
	})
	if err != nil {
		return err
	}
	b.log, b.made, b.next = log, make(map[string]bool), max(log.First(), 1)
	b.since.Store(time.Now().UnixMicro())
	return nil
}

// load opens what a process before this one has left.
func (b *backlog) load() error {
	b.logMu.Lock()
	defer b.logMu.Unlock()
	err := b.openLog()
	if err == nil {
		err = b.log.Replay(b.next, func(p wal.Pos, rec []byte) error {
			at, err := parseRecord(rec, func(s sample) {
				if s.Make != nil {
					b.made[s.Path] = true
				}
			})
			if err == nil && p == b.next {
				b.since.Store(max(at, 1))
			}
			b.hold(int64(len(rec)))
			return nil // a record that does not parse is counted when it is to be delivered
		})
	}
	switch {
	case err == nil:
		return nil
	case isDamage(err):
		return b.setAside(err)
	case errors.Is(err, wal.ErrNewer):
		return fmt.Errorf("samples wait that this version cannot deliver: start the newer version, or move the folder away: %w", err)
	}
	return err
}

// isDamage says whether a log cannot be read any further, now or later. What a newer program wrote
// is not damaged: that program delivers it.
func isDamage(err error) bool {
	if errors.Is(err, wal.ErrNewer) {
		return false
	}
	_, corrupt := errors.AsType[*wal.CorruptError](err)
	return corrupt || errors.Is(err, wal.ErrHole)
}

// hold counts bytes that are kept, or are not any more if n is negative.
func (b *backlog) hold(n int64) {
	b.bytes.Add(n)
	b.s.held.Add(n)
}

// reserve takes n bytes of the room for samples, or returns why there is none.
func (s *spool) reserve(n int64, newSeries bool) (Reason, error) {
	held := s.held.Add(n)
	switch {
	case held > s.o.Bytes:
		s.held.Add(-n)
		return Full, errFull
	case newSeries && held > s.o.Bytes-s.o.Bytes/5: // 80 %
		s.held.Add(-n)
		return NewSeries, errNewSeries
	}
	return 0, nil
}

// add keeps samples behind those that are kept already. It copies them. What it does not keep is
// counted, and the error says why. The other samples are kept.
func (b *backlog) add(samples []sample) error {
	b.logMu.Lock()
	defer b.logMu.Unlock()
	var all error
	for len(samples) > 0 {
		n, err := b.addRecord(samples)
		all = errors.Join(all, err)
		samples = samples[n:]
	}
	return all
}

// addRecord keeps the first samples, as many as one record takes, and returns how many it has
// looked at. b.logMu is held.
func (b *backlog) addRecord(samples []sample) (n int, err error) {
	s := b.s
	if b.log == nil {
		if err := b.openLog(); err != nil {
			s.drop(Disk, len(samples))
			return len(samples), err
		}
		s.o.Logger.Warn("a partition has no leader: samples are spooled", "partition", b.p)
		s.deliver(b)
	}
	rec := appendHead(b.buf[:0], time.Now().UnixMicro())
	room, kept := 0, 0
	var made []string
	for n < len(samples) && len(rec) < recordBytes {
		x := &samples[n]
		n++
		fresh := x.Make != nil && !b.made[x.Path]
		before := len(rec)
		rec = appendSample(rec, x, fresh)
		if why, e := s.reserve(int64(len(rec)-room), fresh); e != nil {
			rec, err = rec[:before], e
			s.drop(why, 1)
			continue
		}
		room = len(rec)
		kept++
		if fresh {
			b.made[x.Path] = true
			made = append(made, x.Path)
		}
	}
	b.buf = rec[:0]
	if kept == 0 {
		return n, err
	}
	b.bytes.Add(int64(room))
	if _, e := b.log.Append(context.Background(), rec); e != nil {
		b.hold(-int64(room))
		for _, path := range made {
			delete(b.made, path)
		}
		s.drop(Disk, kept)
		return n, errors.Join(err, fmt.Errorf("spool partition %d: %w", b.p, e))
	}
	s.count(func(st *Stats) { st.Spooled += uint64(kept) })
	s.o.step("added")
	return n, err
}

// closeLog closes the log. b.logMu is held.
func (b *backlog) closeLog() error {
	if b.log == nil {
		return nil
	}
	log := b.log
	b.log, b.made = nil, nil
	return log.Close()
}

// close closes the log for good.
func (b *backlog) close() error {
	b.logMu.Lock()
	defer b.logMu.Unlock()
	b.sealed = true
	return b.closeLog()
}

// setAside gives the part's folder another name because of damage. b.logMu is held.
func (b *backlog) setAside(cause error) error {
	b.s.count(func(st *Stats) { st.SetAside++ })
	suffix := fmt.Sprintf("%s-%d", damagedSuffix, time.Now().UnixNano())
	b.s.o.Logger.Error("a spool's log is damaged: it was set aside, and the rest of its samples is not delivered",
		"partition", b.p, "folder", b.dir+suffix, "error", cause)
	return b.retire(suffix)
}

// retire closes the log and renames its folder. b.logMu is held.
func (b *backlog) retire(suffix string) error {
	err := errors.Join(b.closeLog(), os.RemoveAll(b.dir+suffix), os.Rename(b.dir, b.dir+suffix))
	b.hold(-b.bytes.Load())
	b.since.Store(0)
	return err
}
