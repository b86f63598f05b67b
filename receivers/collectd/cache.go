package collectd

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/successor"
	"github.com/rondo-db/rondo/rra"
)

// A cache finds the reference of a series by the names in a value list and the kinds of its values,
// without making a path of the names. The kinds are part of the key: a list whose values do not fit
// its series has an entry of its own, which is refused.
//
// An entry remembers in which names the entry that is foreseen after it differs from it. A look-up
// compares only those names with the foreseen entry, and the names that the packet has set since
// the list before.
//
// A full cache is emptied; references are resolved again when they are needed.
type cache struct {
	successor.Cache[entry]
	key []byte // of the list that sum was called with last
}

// An entry is one key of the cache.
type entry struct {
	receivers.Series
	differs parts // names in which the entry foreseen after this one differs
}

// cacheEntries is the largest number of entries: about 250 MB with keys of 64 bytes.
const cacheEntries = 1 << 21

func newCache(most int) *cache {
	return &cache{Cache: successor.NewCache[entry](most, successor.MaxChunks)}
}

// sizes packs the lengths of the parts of v's key. Names have at most 127 bytes, and there are at
// most maxSources kinds.
func sizes(v *ValueList) uint64 {
	return uint64(len(v.TypeInstance)) | uint64(len(v.Type))<<8 | uint64(len(v.PluginInstance))<<16 |
		uint64(len(v.Plugin))<<24 | uint64(len(v.Host))<<32 | uint64(len(v.Kinds))<<40
}

// sizesBytes is how many bytes of a key are its sizes. The parts follow.
const sizesBytes = 8

// skip notes that a list was not looked up: it must not connect the next list with the one before.
func (c *cache) skip() { c.Lose() }

// find returns the entry of v, or nil. v.changed are the names in which v may differ from the list
// before. The caller must have called find or skip for that list.
func (c *cache) find(v *ValueList) *entry {
	changed := v.changed
	last := c.Last()
	if n := c.Foreseen(); n != successor.None {
		p := c.At(last)
		if c.equal(n, v, changed|p.differs) {
			if p.differs == unknown {
				p.differs = c.differ(last, n)
			}
			c.Found(n)
			return c.At(n)
		}
	}
	c.sum(v)
	i, ok := c.Lookup(nil, c.key)
	switch {
	case !ok:
		c.Lose()
		return nil
	case last == successor.None || changed&ofFirst != 0:
		c.Found(i) // packets of several senders come in any order
	default:
		c.Follow(i)
		c.At(last).differs = c.differ(last, i)
	}
	return c.At(i)
}

// sum sets c.key to the key of v.
func (c *cache) sum(v *ValueList) {
	dst := binary.LittleEndian.AppendUint64(c.key[:0], sizes(v))
	for _, name := range v.all() {
		dst = append(dst, *name...)
	}
	c.key = append(dst, v.Kinds...)
}

// equal reports whether entry i has the key of v. It compares only the names in differ.
func (c *cache) equal(i uint32, v *ValueList, differ parts) bool {
	_, k := c.Key(i)
	if binary.LittleEndian.Uint64(k) != sizes(v) {
		return false
	}
	k = k[sizesBytes:]
	n := len(v.TypeInstance)
	if differ&ofTypeInstance != 0 && string(k[:n]) != string(v.TypeInstance) {
		return false
	}
	k, n = k[n:], len(v.Type)
	if differ&ofType != 0 && string(k[:n]) != string(v.Type) {
		return false
	}
	k, n = k[n:], len(v.PluginInstance)
	if differ&ofPluginInstance != 0 && string(k[:n]) != string(v.PluginInstance) {
		return false
	}
	k, n = k[n:], len(v.Plugin)
	if differ&ofPlugin != 0 && string(k[:n]) != string(v.Plugin) {
		return false
	}
	k, n = k[n:], len(v.Host)
	if differ&ofHost != 0 && string(k[:n]) != string(v.Host) {
		return false
	}
	k, n = k[n:], len(v.Kinds)
	if n == 1 {
		return k[0] == v.Kinds[0]
	}
	return string(k[:n]) == string(v.Kinds)
}

// differ returns in which names two entries differ.
func (c *cache) differ(a, b uint32) (d parts) {
	_, k := c.Key(a)
	_, l := c.Key(b)
	mine, its := binary.LittleEndian.Uint64(k), binary.LittleEndian.Uint64(l)
	k, l = k[sizesBytes:], l[sizesBytes:]
	for i := range 5 {
		m, n := mine>>(8*i)&0xff, its>>(8*i)&0xff
		if !bytes.Equal(k[:m], l[:n]) {
			d |= 1 << i
		}
		k, l = k[m:], l[n:]
	}
	return d
}

// add makes an entry for v, which has none.
func (c *cache) add(v *ValueList) *entry {
	if c.Full() {
		c.Clear()
	}
	c.sum(v)
	n := c.Add(nil, c.key)
	c.Lose() // find decides what follows what
	e := c.At(n)
	e.differs = unknown
	return e
}

// newcomerBytes is how much memory a list that waits takes beside its bytes, about.
const newcomerBytes = 128

// newcomer keeps a copy of a list until its series is resolved.
func (s *server) newcomer(v *ValueList) {
	l := v.Clone()
	l.changed = ofFirst | ofAll // it is looked up later, after another list than now
	s.cache.sum(v)
	key := string(s.cache.key)
	i, asked := s.news.Index(key)
	if !asked {
		i = s.news.Ask(key, s.request(&l))
	}
	s.news.Wait(i, l, len(l.Raw)+newcomerBytes, s.now)
}

// resolve makes the sink find or make the series of the newcomers, keeps the references in the
// cache, and adds the samples.
func (s *server) resolve(ctx context.Context) {
	_ = s.news.Resolve(ctx, s.asks) // it is logged, and Replay counts what it costs
	s.news.Replay(&s.Counters, func(v *ValueList, _ int, r *receivers.Request) {
		e := s.cache.find(v)
		if e == nil {
			e = s.cache.add(v)
		}
		e.Series = r.Series(s.tick)
		if e.Ref != 0 {
			s.add(e.Ref, v)
		}
	})
}

func (s *server) request(v *ValueList) receivers.Request {
	return receivers.Request{
		Identity: Identify(&v.Names),
		Sender:   receivers.Text(v.Host),
		Time:     rra.Seconds(v.Time.Seconds()),
		Define: func(step int64) *rra.Definition {
			return s.set.types.Define(string(v.Type), v.Kinds, v.Interval, step)
		},
		Fits: func(d *rra.Definition) bool { return fits(d, v.Kinds) },
	}
}
