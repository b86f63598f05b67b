package rrdd

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A plugin is one file of the folder.
type plugin struct {
	name   string
	reader Reader
	gone   bool

	generation uint64   // of the reader's sources when they were adopted
	adopted    []Source // these
	legacy     bool     // how they are read
	entries    []entry  // their series
	bytes      int      // their size

	failures int     // turns in a row in which it did not read
	skip     int     // turns in which it is not read unless it changes
	bad      content // what did not read last
	barred   bool    // there was no room for it: it is not read even if it changes
}

// A content is what tells a file that did not read from another.
type content struct {
	sum  uint64 // of the bytes that were looked at; 0: none were
	size int64
	head [v1Text]byte // the beginning, as much as there is
	n    int
}

// look reads p, if it is its turn. second says that it did not read a moment ago.
func (s *server) look(ctx context.Context, dir *folder, p *plugin, second bool) {
	f, size, err := dir.open(p.name)
	if errors.Is(err, errGone) {
		p.gone = true
		s.release(p)
		return
	}
	waits := p.skip > 0 && !second
	if err != nil {
		if waits {
			p.skip--
			return
		}
		s.unreadable(p, err)
		return
	}
	defer f.close()
	if waits {
		if s.isBad(p, f, size) {
			p.skip--
			return
		}
		p.failures, p.skip = 0, 0
	}
	updated, err := p.reader.Read(f, size)
	var e *receivers.Error
	switch {
	case errors.As(err, &e):
		s.unread(p, e, size, second)
	case err != nil:
		s.unreadable(p, err)
	case !updated || s.take(ctx, p):
		p.failures, p.bad, p.barred = 0, content{}, false
	}
}

// unreadable counts a file that the system does not let be read.
func (s *server) unreadable(p *plugin, err error) {
	s.Drop(receivers.Failed, 1)
	s.log(p.name, "rrdd: plugin file not read", err)
	p.fail()
}

// The turns between two readings of a file that did not read.
const (
	patience = 3 // failures before there are any
	maxTurns = 64
)

// fail notes one more turn in which p did not read.
func (p *plugin) fail() {
	if p.failures++; p.failures >= patience {
		p.skip = min(2<<min(p.failures-patience, 16), maxTurns) - 1
	}
}

// unread takes note of a content that is not right. It is counted once the same content is found a
// second time; until then it may be half written.
func (s *server) unread(p *plugin, e *receivers.Error, size int64, second bool) {
	bad := content{sum: maphash.Bytes(s.seed, s.work.text) | 1, size: size}
	bad.n = copy(bad.head[:], s.work.text)
	known := p.bad == bad
	p.bad = bad
	switch {
	case known:
		s.Packets.Add(1)
		s.Bytes.Add(uint64(len(s.work.text)))
		s.Drop(e.Reason, 1)
		s.log(p.name, "rrdd: plugin file is not right", e)
		p.fail()
	case second:
		p.fail()
	default:
		s.again = append(s.again, p)
	}
}

// isBad reports whether the file begins as what did not read, so that there is no use in reading
// more of it.
func (s *server) isBad(p *plugin, f io.ReaderAt, size int64) bool {
	if p.barred || p.bad.sum == 0 {
		return p.barred
	}
	head, err := s.work.front(f, min(size, v1Text))
	return err == nil && size == p.bad.size && string(head) == string(p.bad.head[:min(p.bad.n, len(head))])
}

// take makes samples of an update: of all its values, or of none. It reports whether there was room
// for p.
func (s *server) take(ctx context.Context, p *plugin) bool {
	r := &p.reader
	s.Packets.Add(1)
	s.Bytes.Add(uint64(r.size))
	if p.generation != r.Generation() && !s.adopt(p) {
		return false
	}
	at, ok := s.time(r.Timestamp())
	if !ok {
		s.Drop(receivers.State, 1)
		s.log(p.name, "rrdd: the time of reading is used", fmt.Errorf("state: timestamp %v", r.Timestamp()))
	}
	s.resolve(ctx, p, at)
	for i, v := range r.Values() {
		e := &p.entries[i]
		switch {
		case s.set.onlyDefault && !p.adopted[i].Default:
		case e.ref == 0:
			s.Drop(e.why, 1)
		default:
			s.values[0] = reading(v)
			s.queue.Add(e.ref, at, s.values[:])
		}
	}
	return true
}

// The first time that a timestamp is believed: 2000-01-01.
const earliest = 946684800

// time returns the time of the samples of a file; ok says whether it is that of the file.
func (s *server) time(timestamp float64) (at rra.Time, ok bool) {
	if !(timestamp >= earliest && timestamp <= float64(s.latest.Unix())) {
		return rra.TimeOf(s.now), false
	}
	whole, fraction := math.Modf(timestamp)
	return rra.Seconds(int64(whole)) + rra.Time(math.Round(fraction*1e6)), true
}

// adopt makes the entries of p those of what it has read, and reports whether there is room for
// them.
func (s *server) adopt(p *plugin) bool {
	sources := p.reader.Sources()
	size := 0
	for i := range sources {
		size += sources[i].size()
	}
	if s.sources-len(p.adopted)+len(sources) > s.room.sources || s.bytes-p.bytes+size > s.room.bytes {
		s.Drop(receivers.Limit, uint64(len(sources)))
		s.log(p.name, "rrdd: plugin file left out", fmt.Errorf("limit: all files together have more than %d data sources, or %d bytes of them", s.room.sources, s.room.bytes))
		s.release(p)
		p.barred = true
		p.fail()
		return false
	}
	p.entries = renew(p.adopted, p.entries, sources)
	s.sources += len(sources) - len(p.adopted)
	s.bytes += size - p.bytes
	p.adopted, p.bytes, p.generation = sources, size, p.reader.Generation()
	p.legacy = s.set.types.legacy(sources)
	return true
}

// release drops what is kept of p.
func (s *server) release(p *plugin) {
	s.sources -= len(p.adopted)
	s.bytes -= p.bytes
	p.reader = Reader{work: &s.work}
	p.generation, p.adopted, p.entries, p.bytes = 0, nil, nil, 0
}

// size is about what s takes in memory, its entry included.
func (s *Source) size() int {
	return 256 + len(s.Name) + len(s.UUID) + len(s.Description) + len(s.Units)
}
