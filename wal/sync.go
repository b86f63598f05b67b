package wal

import (
	"fmt"
	"time"
)

// Syncing
//
// Linux reports a failed write-back once for each open file. Of two fdatasync calls on one
// descriptor one gets the error; the other, which began later and covers the same bytes, returns
// nil. So no two syncs of a segment run at the same time, and the log acts on the result of each
// before it starts another one. With SyncInterval and SyncNone commits go on during a sync, which
// is called a flight. But a caller that wants to sync, end or abandon the segment first waits for
// the flight to land.

// A flight is a sync of the active segment that runs without Log.io.
type flight struct {
	end  int64 // where the segment ended when the sync began
	last Pos   // the last position before it
	err  error // valid once done is closed
	done chan struct{}
}

// sync syncs a segment's file, and counts.
func (l *Log) sync(id uint64, f File) error {
	start := time.Now()
	err := f.Sync()
	took := time.Since(start)
	l.count(func(st *Stats) { st.Syncs++; st.SyncTime += took })
	l.syncTimes.Observe(took)
	if err != nil {
		return fmt.Errorf("sync segment %d: %w", id, err)
	}
	return nil
}

// syncActive syncs the records of the active segment that were acknowledged before they were on the
// disk (SyncInterval and SyncNone). The caller holds io.
func (l *Log) syncActive() error {
	if err := l.land(); err != nil {
		return err
	}
	s := l.active
	if s == nil || l.synced == l.written {
		return nil
	}
	if err := l.sync(s.ID, s.file); err != nil {
		l.abandon(true)
		return err
	}
	s.synced, l.synced = s.end, l.written
	return nil
}

// syncs runs the syncer, which syncs by the clock with SyncInterval.
func (l *Log) syncs() {
	defer close(l.ticked)
	if l.o.Sync != SyncInterval {
		return
	}
	tick := time.NewTicker(l.o.Interval)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
			_ = l.syncNow() // logged there; the records go into the next segment
		}
	}
}

// syncNow is syncActive without io: commits go on meanwhile.
func (l *Log) syncNow() error {
	l.io.Lock()
	defer l.io.Unlock()
	if err := l.land(); err != nil {
		return appendError(err)
	}
	if l.lost != nil {
		return appendError(l.begin())
	}
	s := l.active
	if s == nil || l.synced == l.written {
		return nil
	}
	fl := &flight{end: s.end, last: l.written, done: make(chan struct{})}
	l.flight = fl
	f, id := s.file, s.ID
	l.io.Unlock()
	fl.err = l.sync(id, f)
	close(fl.done)
	l.io.Lock()
	if l.flight == fl {
		return appendError(l.land())
	}
	return appendError(fl.err) // landed by somebody else, who left the segment if it failed
}

// land waits for a flight in progress, and acts on its result. After an error it abandons the
// segment, and the records that were not synced go into the next one. The caller holds io; the
// flight does not need io.
func (l *Log) land() error {
	fl := l.flight
	if fl == nil {
		return nil
	}
	<-fl.done
	l.flight = nil
	s := l.active // the same as when it began: only who has landed the flight leaves a segment
	if fl.err != nil {
		l.o.Logger.Error("log could not sync records, and writes them again", "first", uint64(l.synced+1), "last", uint64(l.written), "error", fl.err)
		l.abandon(true)
		return fl.err
	}
	s.synced, l.synced = fl.end, fl.last
	return nil
}
