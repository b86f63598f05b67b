package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"time"
)

// chunkBytes of encoded blocks are written at once, so that a commit of any size needs little memory.
const chunkBytes = 4 << 20

// commits is the committer: one batch after the other until the log is closed and empty.
func (l *Log) commits() {
	defer close(l.stopped)
	for {
		b := l.take()
		if b == nil {
			return
		}
		if err := l.commit(b); err != nil {
			l.fail(b, err)
		} else {
			l.succeed(b)
		}
	}
}

// take waits for records and takes all there are; nil when the log is closing and there are none.
func (l *Log) take() *batch {
	// Those who were just told get the processor first, and their next records into this batch: with 32
	// appenders 26 records a sync instead of 16.
	runtime.Gosched()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.pending.count == 0 && !l.closing {
		l.work.Wait()
	}
	if l.pending.count == 0 {
		return nil
	}
	l.inflight = l.pending
	l.pending = newBatch(l.inflight.next())
	return l.inflight
}

// succeed tells that a batch is durable.
func (l *Log) succeed(b *batch) {
	last := b.next() - 1
	l.acked.Store(uint64(last))
	l.mu.Lock()
	l.held -= b.bytes
	l.reuse(b)
	recovered := l.failed
	l.failed = false
	l.telling = true
	l.mu.Unlock()
	l.space.Broadcast()
	if recovered {
		l.o.Logger.Info("log takes records again", "position", uint64(b.first))
	}
	l.o.OnDurable(b.first, last, nil)
	l.mu.Lock()
	l.telling = false
	l.inflight = nil
	l.mu.Unlock()
	close(b.done)
}

// fail tells that a batch is not durable, nor what was enqueued behind it: those records were built on it.
// Nothing is enqueued until everyone has been told, then the positions are given out again.
func (l *Log) fail(b *batch, err error) {
	err = appendError(err)
	l.mu.Lock()
	l.failing, l.telling = err, true
	p := l.pending
	first := !l.failed
	l.failed = true
	l.mu.Unlock()
	l.space.Broadcast() // with FailFast those who wait for space need wait no longer
	if first {
		l.o.Logger.Error("log could not take records, and goes on trying", "first", uint64(b.first), "last", uint64(p.next()-1), "error", err)
	}
	l.o.OnDurable(b.first, p.next()-1, err)
	l.mu.Lock()
	l.pending = newBatch(b.first)
	l.inflight = nil
	l.held = 0
	l.failing, l.telling = nil, false
	l.reuse(b)
	l.reuse(p)
	l.mu.Unlock()
	l.space.Broadcast()
	b.err, p.err = err, err
	close(b.done)
	close(p.done)
	l.count(func(s *Stats) { s.Failures++ })
}

// commit writes a batch and, with SyncAlways, syncs it. After an error nothing of it counts: its segment is
// abandoned, because nobody knows what a failed write or sync has left of it, and a sync tried again may
// succeed without having written anything.
func (l *Log) commit(b *batch) error {
	l.io.Lock()
	defer l.io.Unlock()
	if err := l.ready(); err != nil {
		return err
	}
	s := l.active
	end, raw := s.end, int64(0)
	out := l.out[:0]
	for i, k := range b.blocks {
		at := len(out)
		out = appendBlock(out, k.raw, blockHead{Count: k.count, First: k.first, Durable: l.synced})
		sealBlock(out[at:], s.Salt)
		raw += int64(len(k.raw))
		if len(out) < chunkBytes && i < len(b.blocks)-1 {
			continue
		}
		if err := s.write(out, end, l.o.SegmentBytes, !l.o.DisablePreallocate); err != nil {
			err = fmt.Errorf("write segment %d at offset %d: %w", s.ID, end, err)
			l.abandon(false)
			return err
		}
		end += int64(len(out))
		out = out[:0]
	}
	if l.out = out; cap(out) > 2*chunkBytes {
		l.out = nil
	}
	if l.o.Sync == SyncAlways {
		if err := l.sync(s.ID, s.file); err != nil {
			l.abandon(true)
			return err
		}
		s.synced, l.synced = end, b.next()-1
	}
	wrote := end - s.end
	s.end, l.written = end, b.next()-1
	l.count(func(st *Stats) {
		st.Commits++
		st.Records += uint64(b.count)
		st.RawBytes += uint64(raw)
		st.WrittenBytes += uint64(wrote)
	})
	return nil
}

// ready sees to it that there is an active segment with room. io is held.
func (l *Log) ready() error {
	if s := l.active; s == nil || s.end >= l.o.SegmentBytes {
		if err := l.roll(); err != nil {
			return err
		}
	}
	if err := l.marked(); err != nil {
		return err
	}
	return l.present()
}

// marked sees to it that the file mark names the active segment: no record goes into one that could
// vanish without a trace. io is held.
func (l *Log) marked() error {
	if s := l.active; s == nil || l.slots.mark.Segment == s.ID {
		return nil
	}
	if err := l.writeMark(l.markNow()); err != nil {
		return err
	}
	_ = l.bury() // drop and the next begin try again
	return nil
}

// lookEvery is how often the log looks whether its files are still there. What is logged into files without a name
// goes when the process ends.
const lookEvery = time.Second

// present returns ErrGone if the active segment or the mark has lost its name. io is held.
func (l *Log) present() error {
	s := l.active
	now := time.Now()
	if s == nil || now.Sub(l.looked) < lookEvery {
		return nil
	}
	name := segmentName(l.dir, s.ID, segmentSuffix)
	named, err := l.fs.Named(name, s.file)
	if err != nil {
		return err
	}
	if !named {
		return fmt.Errorf("%w: %s was removed, renamed or replaced", ErrGone, name)
	}
	l.looked = now
	return nil
}

// roll ends the active segment, if there is one, and begins the next. io is held.
func (l *Log) roll() error {
	// The next segment's header says that all before it is durable.
	if err := l.syncActive(); err != nil {
		return err
	}
	if s := l.active; s != nil {
		_ = s.file.Close() // it was synced
		s.file, l.active = nil, nil
	}
	return l.begin()
}

// begin makes the next segment and with it whole again what the last one lost. io is held.
func (l *Log) begin() (err error) {
	_ = l.bury() // drop tries again
	first := l.written + 1
	if l.lost != nil {
		first = l.lost.first
	}
	head := segmentHead{ID: l.nextID, First: first, Log: l.slots.mark.Log, Prev: l.link(first)}
	var salt [8]byte
	l.o.random(salt[:])
	head.Salt = binary.LittleEndian.Uint64(salt[:])
	l.nextID++
	temp := segmentName(l.dir, head.ID, newSuffix)
	name := segmentName(l.dir, head.ID, segmentSuffix)
	var f File
	// A copy goes into a new file: it is sealed before the id is taken for good, and what a crash left of it in a
	// recycled one would parse when the id is given out again.
	if n := len(l.free); n > 0 && l.lost == nil {
		temp = segmentName(l.dir, l.free[n-1], freeSuffix)
		l.free = l.free[:n-1]
		head.Recycled = true
		f, err = l.fs.Open(temp, true)
	} else {
		f, err = l.fs.Create(temp)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", ErrGone, err)
	}
	if err != nil {
		return fmt.Errorf("begin segment %d: %w", head.ID, err)
	}
	s := &segment{segmentHead: head, file: f, end: segmentHeader, synced: segmentHeader}
	defer func() {
		if err != nil {
			_ = f.Close()         // nothing in it counts
			_ = l.fs.Remove(temp) // it costs space only, and Open tries again
			l.dead = append(l.dead, head.ID)
			_ = l.bury() // drop and the next begin try again
			err = fmt.Errorf("begin segment %d: %w", head.ID, err)
		}
	}()
	if s.size, err = f.Size(); err != nil {
		return err
	}
	if err := s.write(head.appendTo(nil), 0, l.o.SegmentBytes, !l.o.DisablePreallocate); err != nil {
		return err
	}
	if l.lost != nil {
		if err := l.lost.copyTo(s, l.o); err != nil {
			return err
		}
	}
	// The header before the name: a file with a segment's name has a whole header.
	if err := l.sync(s.ID, s.file); err != nil {
		return err
	}
	if err := l.fs.Rename(temp, name); err != nil {
		return err
	}
	// The name before the first block: a crash must not take a name away whose blocks were acknowledged, nor
	// leave blocks sealed for an id that will be given out again.
	if err := l.fs.SyncDir(l.dir); err != nil {
		return err
	}
	if l.lost != nil {
		_ = l.lost.file.Close() // copied
		l.lost = nil
	}
	s.synced, l.synced = s.end, l.written
	l.looked = time.Now()
	if n := len(l.segs); n > 0 && l.segs[n-1].First >= s.First { // the copy replaced it whole
		l.dead = append(l.dead, l.segs[n-1].ID)
		l.segs = l.segs[:n-1]
	}
	l.segs = append(l.segs, s)
	l.active = s
	return nil
}

// link names the segment that comes before one that begins with position first.
func (l *Log) link(first Pos) link {
	n := len(l.segs)
	if n == 0 {
		return link{}
	}
	s := l.segs[n-1]
	if s.First >= first { // a copy replaces it whole
		return s.Prev
	}
	if l.lost != nil {
		return link{ID: s.ID, Salt: s.Salt, End: l.lost.from}
	}
	return link{ID: s.ID, Salt: s.Salt, End: s.end}
}

// abandon leaves the active segment after a failed write, or a failed sync. io is held.
func (l *Log) abandon(syncFailed bool) {
	s := l.active
	if s == nil {
		return
	}
	if fl := l.flight; fl != nil {
		<-fl.done
		l.flight = nil
		if fl.err == nil {
			s.synced, l.synced = fl.end, fl.last
		}
		syncFailed = syncFailed || fl.err != nil
	}
	l.active = nil
	if l.synced < l.written && !syncFailed {
		if err := s.file.Sync(); err == nil {
			s.synced, l.synced = s.end, l.written
		}
	}
	// What the failed commit may have left is ignored from now on, because the next segment begins at its
	// position; cutting it off as well gives back the space reserved, which a full disk needs.
	_ = s.file.Truncate(s.end)
	file := s.file
	s.file, s.size = nil, s.end
	if l.synced < l.written {
		l.lost = &tail{file: file, salt: s.Salt, segment: s.ID, from: s.synced, to: s.end, first: l.synced + 1}
		return
	}
	_ = file.Close() // what was to be synced is
	if s.First == l.written+1 {
		l.segs = l.segs[:len(l.segs)-1]
		l.dead = append(l.dead, s.ID)
		_ = l.bury() // drop and the next begin try again
	}
}

// bury removes the segments in which nothing counts, because another one begins at the same position. They are
// left out as long as that one is there; so it must not go before them. One that the mark names, or may name, stays until
// the mark names another one. io is held.
func (l *Log) bury() error {
	var kept []uint64
	n := 0
	for _, id := range l.dead {
		if id == l.slots.mark.Segment || id == l.slots.tried {
			kept = append(kept, id)
			continue
		}
		n++
		err := l.fs.Remove(segmentName(l.dir, id, segmentSuffix))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if n == 0 {
		return nil
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return err
	}
	l.dead = kept
	return nil
}

// tail is the end of an abandoned segment that was acknowledged and then could not be synced.
type tail struct {
	file     File
	salt     uint64
	segment  uint64
	from, to int64
	first    Pos
}

// copyTo seals the blocks of the tail for another segment, and writes them there.
func (t *tail) copyTo(s *segment, o Options) error {
	r := blockReader{file: t.file, salt: t.salt, off: t.from, size: t.to}
	for {
		h, err := r.next()
		if errors.Is(err, errEnd) && r.off == t.to {
			return nil
		}
		var payload []byte
		if err == nil {
			payload, err = r.payload(h)
		}
		if err == nil && checksum(payload) != h.sum {
			err = errPayloadChecksum
		}
		if err != nil {
			return &CorruptError{Segment: t.segment, Offset: r.off, Err: fmt.Errorf("copy what could not be synced: %w", err)}
		}
		whole, err := r.window(r.off, blockHeader+h.Stored)
		if err != nil {
			return err
		}
		h.Durable = min(h.Durable, s.First-1)
		h.put(whole)
		sealBlock(whole, s.Salt)
		if err := s.write(whole, s.end, o.SegmentBytes, !o.DisablePreallocate); err != nil {
			return err
		}
		s.end += int64(len(whole))
		r.skip(h)
	}
}

var _ io.Closer = (*Log)(nil)
