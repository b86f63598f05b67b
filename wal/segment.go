package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	segmentSuffix  = ".wal"  // a segment; its header is durable
	freeSuffix     = ".free" // a segment that was truncated away, kept for its blocks on disk
	newSuffix      = ".new"  // a segment whose header may not be durable
	lockName       = "lock"
	readBytes      = 1 << 20   // asked of the file system at once
	firstAllocated = 256 << 10 // reserved ahead in a new segment
	mostAllocated  = 8 << 20   // reserved ahead at once
)

// A segment is one file of the log. Log.io guards its fields.
type segment struct {
	segmentHead
	file   File  // open in the active segment only
	end    int64 // where the next block goes; where the last one ends that counts
	size   int64 // of the file, allocated space included
	synced int64 // all before it is durable
	pins   int   // replays that read the file
}

func segmentName(dir string, id uint64, suffix string) string {
	return filepath.Join(dir, fmt.Sprintf("%020d%s", id, suffix))
}

// parseName gives the id in a file's name.
func parseName(name, suffix string) (id uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != 20 {
		return 0, false
	}
	id, err := strconv.ParseUint(digits, 10, 64)
	return id, err == nil
}

// write writes sealed blocks at offset at. The end of the segment stays where it is: the caller
// moves it when b counts.
func (s *segment) write(b []byte, at int64, limit int64, allocate bool) error {
	if need := at + int64(len(b)); need > s.size {
		if allocate {
			// Steps grow with the file, so that a small log stays small and a busy one asks rarely.
			step := min(max(s.size, firstAllocated), mostAllocated)
			if to := max(min(s.size+step, limit), need); s.file.Allocate(s.size, to-s.size) == nil {
				s.size = to
			}
			// An error is left to the write: what does not fit ahead may fit exactly.
		}
		s.size = max(s.size, need)
	}
	return writeAll(s.file, b, at)
}

// blockReader walks the blocks of one segment with large reads.
type blockReader struct {
	file File
	salt uint64
	off  int64 // of the block that next will read
	size int64 // of the file
	buf  []byte
	at   int64 // offset of buf[0]
}

// A readError is an error of the file system, which says nothing about the bytes.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }
func (e *readError) Unwrap() error { return e.err }

// window returns n bytes from off on, or fewer if the file ends before.
func (r *blockReader) window(off int64, n int) ([]byte, error) {
	n = int(min(int64(n), r.size-off))
	if n <= 0 {
		return nil, nil
	}
	if skip := off - r.at; skip >= 0 && skip+int64(n) <= int64(len(r.buf)) {
		return r.buf[skip:][:n], nil
	}
	// Keep what is there of the window; read the rest and ahead.
	want := int(min(int64(max(n, readBytes)), r.size-off))
	kept := 0
	if skip := off - r.at; skip >= 0 && skip < int64(len(r.buf)) {
		kept = copy(r.buf, r.buf[skip:])
	}
	if cap(r.buf) < want {
		r.buf = append(make([]byte, 0, want), r.buf[:kept]...)
	}
	r.buf = r.buf[:want]
	r.at = off
	got, err := r.file.ReadAt(r.buf[kept:], off+int64(kept))
	if kept+got < want {
		r.buf = r.buf[:kept+got]
		if !errors.Is(err, io.EOF) {
			return nil, &readError{err}
		}
		r.size = off + int64(kept+got) // cut short under our eyes
	}
	return r.buf[:min(n, len(r.buf))], nil
}

// next reads the header of the block at off, whose first position is to be first. The error is
// errEnd if no more blocks follow, a *readError if the file cannot be read, ErrHole if the position
// is another one, and another error if the bytes are not a block.
func (r *blockReader) next(first Pos) (BlockHead, error) {
	b, err := r.window(r.off, blockHeader)
	if err != nil {
		return BlockHead{}, err
	}
	h, err := parseBlockHead(b, r.salt)
	switch {
	case err != nil:
	case r.off+blockHeader+int64(h.Stored) > r.size:
		err = errShort
	case h.First != first:
		err = fmt.Errorf("%w: block has position %d after %d", ErrHole, h.First, first-1)
	}
	return h, err
}

// payload reads the payload of the block at off, whose header is h. It is valid until the next
// call.
func (r *blockReader) payload(h BlockHead) ([]byte, error) {
	b, err := r.window(r.off, blockHeader+h.Stored)
	if err != nil {
		return nil, err
	}
	if len(b) < blockHeader+h.Stored {
		return nil, errShort
	}
	return b[blockHeader:], nil
}

// check is next, and checks the payload of the block.
func (r *blockReader) check(first Pos) (BlockHead, error) {
	h, err := r.next(first)
	var payload []byte
	if err == nil {
		payload, err = r.payload(h)
	}
	if err == nil && checksum(payload) != h.sum {
		err = errPayloadChecksum
	}
	return h, err
}

func (r *blockReader) skip(h BlockHead) { r.off += blockHeader + int64(h.Stored) }

// ahead looks behind damage at off for blocks of this segment. It returns the greatest position
// that one of them calls durable, and where the last of them ends, within the file; both are 0 if
// it finds no block. The error wraps ErrNewer if a newer program wrote one of them.
func (r *blockReader) ahead() (durable Pos, end int64, err error) {
	for off := r.off; ; {
		b, err := r.window(off, readBytes)
		if err != nil {
			return 0, 0, err
		}
		if len(b) < blockHeader {
			return durable, end, nil
		}
		i := bytes.Index(b, []byte(blockMagic))
		switch {
		case i < 0:
			off += int64(len(b) - len(blockMagic) + 1)
			continue
		case i+blockHeader > len(b):
			off += int64(i)
			if off+blockHeader > r.size {
				return durable, end, nil
			}
			continue
		}
		off += int64(i)
		if h, err := parseBlockHead(b[i:], r.salt); err == nil {
			durable = max(durable, h.Durable)
			end = max(end, min(off+blockHeader+int64(h.Stored), r.size))
		} else if errors.Is(err, ErrNewer) {
			return 0, 0, err
		}
		off += int64(len(blockMagic))
	}
}

// content returns the offset behind the last byte from off on that is not zero, or off if all are.
func (r *blockReader) content(off int64) (int64, error) {
	end := off
	for at := off; ; {
		b, err := r.window(at, readBytes)
		if err != nil || len(b) == 0 {
			return end, err
		}
		if trimmed := bytes.TrimRight(b, "\x00"); len(trimmed) > 0 {
			end = at + int64(len(trimmed))
		}
		at += int64(len(b))
	}
}
