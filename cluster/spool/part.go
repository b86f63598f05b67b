package spool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

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
	// recordBytes is the size from which on the samples of one Add go into another record.
	recordBytes = 256 << 10
	// segmentBytes is small: the log gives back room by segments.
	segmentBytes = 4 << 20
)

// A part keeps the samples of one partition.
type part struct {
	spool  *Spool
	number int
	dir    string

	holds  atomic.Bool
	oldest atomic.Int64 // when the oldest sample came, in microseconds since 1970; 0: not known
	bytes  atomic.Int64 // of Spool.held

	next wal.Pos // the first record not delivered; of the goroutine that delivers, and of load

	mu   sync.Mutex // guards what follows; held while a record is written
	log  *wal.Log   // nil: the part has nothing
	made map[string]bool
	buf  []byte
}

// openLog opens the log. p.mu is held.
func (p *part) openLog() error {
	if p.spool.closed.Load() {
		return ErrClosed
	}
	l, err := wal.Open(p.dir, wal.Options{
		Sync: wal.SyncInterval, SegmentBytes: segmentBytes, DisablePreallocate: true, Logger: p.spool.o.Logger,
	})
	if err != nil {
		return err
	}
	p.log, p.made = l, make(map[string]bool)
	p.next = max(l.First(), 1)
	p.holds.Store(true)
	return nil
}

// load opens what a process before this one has left.
func (p *part) load() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.openLog()
	if err == nil {
		err = p.log.Replay(p.next, func(_ wal.Pos, rec []byte) error {
			at, err := parseRecord(rec, func(s Sample) {
				if s.Make != nil {
					p.made[s.Path] = true
				}
			})
			if err == nil && p.oldest.Load() == 0 {
				p.oldest.Store(at)
			}
			p.hold(int64(len(rec)))
			return nil // a record that does not parse is counted when it is to be delivered
		})
	}
	if isDamage(err) {
		return p.setAside(err)
	}
	if errors.Is(err, wal.ErrNewer) {
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
func (p *part) hold(n int64) {
	p.bytes.Add(n)
	p.spool.held.Add(n)
}

// add keeps the first samples, as many as one record takes, and returns how many it has looked at.
func (p *part) add(samples []Sample) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &p.spool.counted
	if p.log == nil {
		if err := p.openLog(); err != nil {
			c.drop(Disk, len(samples))
			return len(samples), err
		}
		p.spool.o.Logger.Warn("a partition has no leader: samples are spooled", "partition", p.number)
	}
	now := time.Now().UnixMicro()
	rec := appendHead(p.buf[:0], now)
	room, kept := 0, 0
	var made []string
	for n < len(samples) && len(rec) < recordBytes {
		x := &samples[n]
		n++
		fresh := x.Make != nil && !p.made[x.Path]
		before := len(rec)
		rec = appendSample(rec, x, fresh)
		if e := p.spool.reserve(int64(len(rec)-room), fresh); e != nil {
			rec, err = rec[:before], e
			c.drop(reasonOf(e), 1)
			continue
		}
		room = len(rec)
		kept++
		if fresh {
			p.made[x.Path] = true
			made = append(made, x.Path)
		}
	}
	p.buf = rec[:0]
	if kept == 0 {
		return n, err
	}
	p.bytes.Add(int64(room))
	if _, e := p.log.Append(context.Background(), rec); e != nil {
		p.hold(-int64(room))
		for _, path := range made {
			delete(p.made, path)
		}
		c.drop(Disk, kept)
		return n, errors.Join(err, fmt.Errorf("spool partition %d: %w", p.number, e))
	}
	p.oldest.CompareAndSwap(0, now)
	c.spooled.Add(uint64(kept))
	p.spool.o.step("added")
	return n, err
}

// closeLog closes the log. p.mu is held.
func (p *part) closeLog() error {
	if p.log == nil {
		return nil
	}
	l := p.log
	p.log, p.made = nil, nil
	return l.Close()
}

func (p *part) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closeLog()
}
