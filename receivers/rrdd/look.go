package rrdd

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"os"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// look reads p, unless it has to be skipped in this turn. second says that p could not be read a
// moment ago.
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
	defer func() { _ = f.Close() }() // nothing was written
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
	case !updated || s.update(ctx, p):
		p.failures, p.bad, p.barred = 0, content{}, false
	}
}

// unreadable counts a file that the system cannot or may not read.
func (s *server) unreadable(p *plugin, err error) {
	s.Drop(receivers.Failed, 1)
	s.log(p.name, "rrdd: plugin file not read", err)
	p.fail()
}

// unread notes that the content of p is wrong. It counts the content only when it finds the same a
// second time: until then the file may be half written.
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

// isBad reports whether the file begins like the content that could not be decoded, so that it is
// useless to read more of it.
func (s *server) isBad(p *plugin, f io.ReaderAt, size int64) bool {
	if p.barred || p.bad.sum == 0 {
		return p.barred
	}
	head, err := s.work.front(f, min(size, v1Text))
	return err == nil && size == p.bad.size && string(head) == string(p.bad.head[:min(p.bad.n, len(head))])
}

// update makes samples of all values of p. It reports whether there was room for the data sources
// of p; if not, it makes no samples.
func (s *server) update(ctx context.Context, p *plugin) bool {
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
		e := &p.series[i]
		switch {
		case s.set.onlyDefault && !p.adopted[i].Default:
		case e.Ref == 0:
			s.Drop(e.Why, 1)
		default:
			s.values[0] = reading(v)
			s.queue.Add(e.Ref, at, s.values[:])
		}
	}
	return true
}

// earliest is the earliest timestamp that is believed: 2000-01-01.
const earliest = 946684800

// time returns the time of the samples of a file. ok says that it is the file's timestamp;
// otherwise it is the time of reading.
func (s *server) time(timestamp float64) (at rra.Time, ok bool) {
	if !(timestamp >= earliest && timestamp <= float64(s.latest.Unix())) {
		return rra.TimeOf(s.now), false
	}
	whole, fraction := math.Modf(timestamp)
	return rra.Seconds(int64(whole)) + rra.Time(math.Round(fraction*1e6)), true
}

// adopt gives p series for the data sources that its reader has read, and reports whether there is
// room for them.
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
	p.series = renew(p.adopted, p.series, sources)
	s.sources += len(sources) - len(p.adopted)
	s.bytes += size - p.bytes
	p.adopted, p.bytes, p.generation = sources, size, p.reader.Generation()
	p.legacy = s.set.types.legacy(sources)
	return true
}

// release forgets the data sources and the series of p.
func (s *server) release(p *plugin) {
	s.sources -= len(p.adopted)
	s.bytes -= p.bytes
	p.reader = Reader{work: &s.work}
	p.generation, p.adopted, p.series, p.bytes = 0, nil, nil, 0
}

// A folder is the plugins' folder, opened for one turn. It is opened again in each turn, because
// another folder may have its name by then.
type folder struct{ *os.File }

func openFolder(name string) (*folder, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|folderFlags, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "open", Path: name, Err: errors.New("no folder")}
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return &folder{f}, nil
}

// listed is how many names are read at a time.
const listed = 256

// names calls f with the name of each regular file, except those that begin with ".". It looks at
// about most names of any kind, and reports whether there are more.
func (d *folder) names(most int, f func(name string)) (more bool, err error) {
	for n := 0; n < most; {
		entries, err := d.ReadDir(listed)
		for _, e := range entries {
			if e.Name()[0] != '.' && e.Type().IsRegular() {
				f(e.Name())
			}
		}
		if n += len(entries); err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// open opens the regular file name in the folder for reading, and returns its size. If there is no
// such file, or name is something else, the error is errGone.
func (d *folder) open(name string) (*os.File, int64, error) {
	f, err := openIn(d.File, name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errGone
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, 0, err
	}
	return f, info.Size(), nil
}
