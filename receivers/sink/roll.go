package sink

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
)

const (
	maxRoll    = 4096    // senders with a record of their own; further ones share one
	rollChunk  = 1 << 10 // series whose senders stand together
	maxChunks  = 1 << 15 // chunks: 128 MB at most
	rollCached = 16      // chunks that one count remembers, a power of two
	rollFlag   = 1 << 16 // in a chunk: the learner looks at the samples of the series
)

// OtherSenders is the name of the record that senders share for which the roll has no place.
const OtherSenders = "others"

// A Sender is what is known of a sender since the server began.
type Sender struct {
	Name   string
	Prefix string // the first component of its paths, which shows the protocol
	// Folder is the first two components of the path that it sent first: its series, or most of
	// them, are below.
	Folder string
	First  time.Time
	Last   time.Time // when samples of it were last handed to the store, or asked for a series
	// Samples is how many samples were handed to the store.
	Samples uint64
	// Series is how many different series it has sent, those included that were dropped since.
	Series int64
}

// A roll counts the samples and the series of each sender. It knows by a table which sender a
// series belongs to. To count a batch takes no lock and no memory: it is one look into the table a
// sample, and one addition for each run of samples of one sender.
type roll struct {
	mu      sync.Mutex // guards numbers, and adding to senders
	numbers map[sender]uint16
	senders atomic.Pointer[[]*record] // by their numbers less 1
	chunks  sync.Map                  // uint64, a ref without its low bits → *chunk
	made    atomic.Int64              // chunks
}

// A sender is the key of a record: one host may speak several protocols.
type sender struct{ name, prefix string }

// A chunk holds the numbers of the senders of successive series; 0: not known. The learner's flag
// stands beside the number.
type chunk [rollChunk]atomic.Uint32

// A record is the figures of one sender.
type record struct {
	sender
	folder  string
	first   time.Time
	last    atomic.Int64 // Unix microseconds
	samples atomic.Uint64
	series  atomic.Int64
}

// enter notes which sender each resolved series belongs to.
func (r *roll) enter(reqs []receivers.Request, now time.Time) {
	var n uint16
	var was string // sender of the request before
	for i := range reqs {
		q := &reqs[i]
		if n == 0 || q.Sender != was {
			n, was = r.number(q, now), q.Sender
		}
		if q.Ref != 0 {
			r.assign(q.Ref, n)
		}
	}
}

// number returns the number of the sender of q. It makes a record for a new one.
func (r *roll) number(q *receivers.Request, now time.Time) uint16 {
	r.mu.Lock()
	defer r.mu.Unlock()
	prefix, _, _ := strings.Cut(q.Path, "/")
	k := sender{q.Sender, prefix}
	n := r.numbers[k]
	if n == 0 && len(r.numbers) >= maxRoll {
		k = sender{name: OtherSenders}
		n = r.numbers[k]
	}
	if n == 0 {
		if r.numbers == nil {
			r.numbers = make(map[sender]uint16)
		}
		k.name, k.prefix = strings.Clone(k.name), strings.Clone(k.prefix)
		all := append(slices.Clip(r.list()), &record{sender: k, folder: strings.Clone(folderOf(q.Path)), first: now})
		r.senders.Store(&all)
		n = uint16(len(all))
		r.numbers[k] = n
	}
	r.list()[n-1].last.Store(now.UnixMicro())
	return n
}

// folderOf returns the first two components of a path, or one less if the path has no more.
func folderOf(path string) string {
	i := strings.IndexByte(path, '/')
	if i < 0 {
		return ""
	}
	if j := strings.IndexByte(path[i+1:], '/'); j >= 0 {
		return path[:i+1+j]
	}
	return path[:i]
}

func (r *roll) list() []*record {
	if p := r.senders.Load(); p != nil {
		return *p
	}
	return nil
}

// assign makes ref a series of the sender n.
func (r *roll) assign(ref core.Ref, n uint16) {
	key := uint64(ref) / rollChunk
	c, ok := r.chunks.Load(key)
	if !ok {
		if r.made.Load() >= maxChunks {
			return // its samples are not counted
		}
		if c, ok = r.chunks.LoadOrStore(key, new(chunk)); !ok {
			r.made.Add(1)
		}
	}
	x := &c.(*chunk)[ref%rollChunk]
	was := x.Load()
	for !x.CompareAndSwap(was, was&rollFlag|uint32(n)) {
		was = x.Load()
	}
	if was %= rollFlag; was == uint32(n) {
		return
	}
	senders := r.list() // behind the swap: was may be of a sender that was just added
	senders[n-1].series.Add(1)
	if was != 0 {
		senders[was-1].series.Add(-1)
	}
}

// at returns what the roll holds of a series; nil: nothing.
func (r *roll) at(ref core.Ref) *atomic.Uint32 {
	c, ok := r.chunks.Load(uint64(ref) / rollChunk)
	if !ok {
		return nil
	}
	return &c.(*chunk)[ref%rollChunk]
}

// knows reports whether a series has been resolved before.
func (r *roll) knows(ref core.Ref) bool {
	x := r.at(ref)
	return x != nil && x.Load() != 0
}

// flag sets or takes away the learner's flag of a series. It returns false if the roll has no place
// for it.
func (r *roll) flag(ref core.Ref, on bool) bool {
	x := r.at(ref)
	switch {
	case x == nil:
		return false
	case on:
		x.Or(rollFlag)
	default:
		x.And(^uint32(rollFlag))
	}
	return true
}

// flagged reports whether a series has the learner's flag.
func (r *roll) flagged(ref core.Ref) bool {
	x := r.at(ref)
	return x != nil && x.Load()&rollFlag != 0
}

// succeed makes a flagged series one of the sender of another, with a flag.
func (r *roll) succeed(old, ref core.Ref) {
	if x := r.at(old); x != nil {
		r.assign(ref, uint16(x.Load()%rollFlag))
		r.flag(ref, true)
	}
}

// count adds the samples of b to their senders. It reports whether a series has the learner's flag.
func (r *roll) count(b *core.Batch, now time.Time) (flagged bool) {
	senders := r.list()
	if len(senders) == 0 {
		return false
	}
	var near [rollCached]struct {
		key uint64
		c   *chunk
	}
	run, length, at := uint32(0), uint64(0), now.UnixMicro()
	for i := range b.Len() {
		ref := b.Ref(i)
		key := uint64(ref) / rollChunk
		e := &near[(key^key>>22)%rollCached] // the class of a ref begins at bit 22 of the key
		if e.c == nil || e.key != key {
			c, _ := r.chunks.Load(key)
			e.key, e.c = key, nil
			if e.c, _ = c.(*chunk); e.c == nil {
				continue
			}
		}
		n := e.c[ref%rollChunk].Load()
		if n >= rollFlag {
			n, flagged = n%rollFlag, true
		}
		if n != run {
			senders[max(run, 1)-1].add(run, length, at)
			run, length = n, 0
			if int(n) > len(senders) { // it was entered meanwhile
				senders = r.list()
			}
		}
		length++
	}
	senders[max(run, 1)-1].add(run, length, at)
	return flagged
}

// add counts n samples of the sender number, which is 0 if it is not known.
func (r *record) add(number uint32, n uint64, at int64) {
	if number == 0 || n == 0 {
		return
	}
	r.samples.Add(n)
	r.last.Store(at)
}

// Senders returns the senders that were heard since the server began, in the order of their names.
func (s *Sink) Senders() []Sender {
	list := s.roll.list()
	out := make([]Sender, len(list))
	for i, r := range list {
		out[i] = Sender{
			Name: r.name, Prefix: r.prefix, Folder: r.folder, First: r.first, Last: time.UnixMicro(r.last.Load()),
			Samples: r.samples.Load(), Series: r.series.Load(),
		}
	}
	slices.SortFunc(out, func(a, b Sender) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Prefix, b.Prefix))
	})
	return out
}
