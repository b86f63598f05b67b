package wal

import (
	"errors"
	"fmt"
	"iter"
)

// A Block is consecutive records of a log that were compressed, and are checked, together.
type Block struct {
	BlockHead

	Segment uint64
	Offset  int64 // of the block's header in the segment

	records []byte
	place   string // as in CorruptError
}

// Records yields the records with their positions, and checks the checksum of each. A record is
// valid until the next one is yielded. After an error Records yields nothing more.
func (b Block) Records() iter.Seq2[Pos, Record] {
	return func(yield func(Pos, Record) bool) {
		p := b.First
		corrupt := func(err error) Record {
			return Record{Err: &CorruptError{Segment: b.Segment, Offset: b.Offset, Place: b.place, Err: err}}
		}
		for rec, err := range recordsOf(b.records) {
			if err == nil && p > b.Last() {
				err = errRecordLength
			}
			if err != nil {
				yield(p, corrupt(err))
				return
			}
			if !yield(p, Record{Data: rec}) {
				return
			}
			p++
		}
		if p <= b.Last() {
			yield(p, corrupt(errRecordLength))
		}
	}
}

// Record is a record of a Block, or the error that ends the block.
type Record struct {
	Data []byte
	Err  error
}

// Replay calls fn, in order, for each record from position from on (0: from First) that was durable
// when Replay was called. rec is valid during the call. An error of fn ends Replay, which returns
// it as it is.
//
// Replay returns ErrTruncated if from is below First, ErrHole if positions are missing that should
// be there, and a *CorruptError where a durable record cannot be read. Records may be appended
// meanwhile. Truncate leaves the segments that Replay has yet to read.
func (l *Log) Replay(from Pos, fn func(p Pos, rec []byte) error) error {
	return l.Blocks(from, func(b Block) error {
		for p, rec := range b.Records() {
			if rec.Err != nil {
				return rec.Err
			}
			if p < from {
				continue
			}
			if err := fn(p, rec.Data); err != nil {
				return err
			}
		}
		return nil
	})
}

// Blocks is Replay by the block. The first block holds position from. Records above Last are left
// out. A block is valid during the call.
func (l *Log) Blocks(from Pos, fn func(Block) error) error {
	segs, last, err := l.pin(from)
	defer l.unpin(segs)
	if err != nil {
		return err
	}
	r := replay{log: l, from: max(from, l.o.firstOf(segs)), last: last, fn: fn}
	for i, s := range segs {
		r.limit, r.behind = last, 0
		if i+1 < len(segs) {
			r.behind = segs[i+1].ID
			r.limit = min(last, segs[i+1].First-1)
		}
		if r.limit < r.from || r.limit < s.First {
			continue
		}
		if err := r.segment(s); err != nil {
			return err
		}
	}
	return l.tailErr
}

// Whole returns nil if a read-only log is complete up to its end, or an error that says what is
// missing or damaged there. A log opened for writing is always complete: Open refuses any other.
func (l *Log) Whole() error { return l.tailErr }

// A Segment is the content of a segment's header.
type Segment struct {
	ID       uint64
	First    Pos    // position of its first record
	Salt     uint64 // drawn at random for this segment
	Recycled bool   // the file was another segment before
	Bytes    int64  // where its last block ends
}

// Segments returns the segments, oldest first.
func (l *Log) Segments() []Segment {
	l.io.Lock()
	defer l.io.Unlock()
	var all []Segment
	for _, s := range l.segs {
		all = append(all, Segment{ID: s.ID, First: s.First, Salt: s.Salt, Recycled: s.Recycled, Bytes: s.end})
	}
	return all
}

// Marked returns what the file mark says.
func (l *Log) Marked() Mark {
	l.io.Lock()
	defer l.io.Unlock()
	return l.slots.mark
}

func (o Options) firstOf(segs []*segment) Pos {
	if len(segs) == 0 {
		return 0
	}
	return segs[0].First
}

// pin returns the segments that hold position from and the positions behind it, and the last
// position. The segments stay until unpin.
func (l *Log) pin(from Pos) ([]*segment, Pos, error) {
	l.io.Lock()
	defer l.io.Unlock()
	last := l.Last()
	switch {
	case from != 0 && from < l.first():
		return nil, 0, fmt.Errorf("replay from position %d: %w", from, &TruncatedError{First: l.first()})
	case from > last+1 && l.tailErr != nil:
		return nil, 0, l.tailErr
	case from > last+1:
		return nil, 0, fmt.Errorf("replay from position %d: %w: last is %d", from, ErrHole, last)
	}
	segs := l.segs
	for len(segs) > 1 && segs[1].First <= from {
		segs = segs[1:]
	}
	segs = append([]*segment(nil), segs...)
	for _, s := range segs {
		s.pins++
	}
	return segs, last, nil
}

func (l *Log) unpin(segs []*segment) {
	if len(segs) == 0 {
		return
	}
	l.io.Lock()
	defer l.io.Unlock()
	for _, s := range segs {
		s.pins--
	}
	if l.keep > 0 && l.lock != nil {
		_ = l.drop() // what it leaves, the next Truncate finds
	}
}

// replay is one walk over the log.
type replay struct {
	log    *Log
	from   Pos
	last   Pos    // what follows is left out
	limit  Pos    // last position that the segment has
	behind uint64 // the segment that says so; 0 in the newest
	fn     func(Block) error
	buf    []byte // one reader's
	raw    []byte
}

func (p *replay) segment(s *segment) error {
	f, err := p.log.fs.Open(segmentName(p.log.dir, s.ID, segmentSuffix), false)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing was written
	size, err := f.Size()
	if err != nil {
		return fmt.Errorf("size of segment %d: %w", s.ID, err)
	}
	r := blockReader{file: f, salt: s.Salt, off: segmentHeader, size: size, buf: p.buf[:0]}
	for next := s.First; next <= p.limit; {
		h, err := r.next(next)
		var payload []byte
		if err == nil && h.Last() >= p.from {
			payload, err = r.payload(h)
			if err == nil {
				payload, err = h.unpack(payload, p.raw)
			}
		}
		if err != nil {
			return p.missing(s, r.off, next, err)
		}
		if h.Last() > p.limit {
			return &CorruptError{Segment: s.ID, Offset: r.off, Err: fmt.Errorf("block goes up to position %d, the segment to %d", h.Last(), p.limit)}
		}
		if payload != nil {
			if h.Codec != Raw {
				p.raw = payload
			}
			if err := p.fn(Block{BlockHead: h, Segment: s.ID, Offset: r.off, records: payload}); err != nil {
				return err
			}
		}
		r.skip(h)
		next = h.Last() + 1
	}
	p.buf = r.buf
	return nil
}

// missing returns the error for a segment that holds no block with the position next, because of
// err.
func (p *replay) missing(s *segment, off int64, next Pos, err error) error {
	var unread *readError
	if errors.As(err, &unread) {
		return fmt.Errorf("read segment %d at offset %d: %w", s.ID, off, err)
	}
	if errors.Is(err, errEnd) && p.behind != 0 {
		err = fmt.Errorf("%w: %d to %d, which segment %d says are there", ErrHole, next, p.limit, p.behind)
	}
	return &CorruptError{Segment: s.ID, Offset: off, Err: err}
}
