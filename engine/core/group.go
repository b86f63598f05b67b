package core

import (
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/internal/held"
	"github.com/rondo-db/rondo/engine/internal/memory"
	"github.com/rondo-db/rondo/engine/internal/pending"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rows"
	"github.com/rondo-db/rondo/wal"
)

// A group holds the series of one class that have consecutive numbers. It is the unit of loading,
// of checkpoints and of coding contexts. Its arrays lie side by side in one block of memory.
//
// mu guards everything but enc, encMem, encTag, encReady and encEpoch. Those are the coding
// context: whoever holds the mutex of the appender owns them, and they run ahead of the rest by the
// samples that are logged and not yet applied.
type group struct {
	c     *class
	id    uint32
	shard int

	mu     sync.Mutex
	loaded bool // the arrays hold the state; false: it is in the database
	dirty  bool // changed since the last snapshot
	stored bool // the database has a state record
	used   bool // a batch came since the last checkpoint
	n      int  // numbers in use

	pos      wal.Pos // the last record that the state includes
	applying wal.Pos // the last record that this process has applied; 0 after loading

	arrays

	// These are by index of the series.
	texts   map[int][]string    // last readings that are kept as text
	lost    map[int]*lostSeries // series that a repair has yet to begin
	refused map[int]error       // why the state of a series cannot be used
	held    map[int]*held.Samples
	// longRuns are by index*cols + column.
	longRuns map[int][]longRun

	deferred []deferredRun // runs to apply when the group is loaded
	// deferredErr is the error of a deferred run that could not be applied. The arrays then hold a
	// part of the state only, and loading always fails.
	deferredErr error

	pend   pending.Rows    // coded rows since the last snapshot
	frozen []*pending.Rows // coded rows of snapshots not yet in the database

	dir    *rowblock.Directory // replaced, never changed in place; nil: empty
	dirTx  int                 // the transaction that wrote dir
	nextTx int                 // the transaction in progress that writes next, or 0
	next   *rowblock.Directory

	encMem   []byte
	enc      []uint64
	encTag   []uint8
	encReady bool
	encEpoch uint64

	inflight atomic.Int32 // runs that are coded and not applied
}

// A runHeader is the decoded head of a run of samples in a record, and the body, still coded.
type runHeader struct {
	kind  uint64
	class uint32
	group uint32
	at    rra.Time // of the first sample
	body  []byte
}

// A deferredRun is a run of samples that its group applies when it is loaded.
type deferredRun struct {
	pos    wal.Pos
	h      runHeader
	window rra.Time // the reorder window then in force
}

// The arrays of a group hold its series side by side; they share one block of memory.
type arrays struct {
	capacity int
	mem      []byte
	words    []uint64  // rra state
	bufs     []float64 // rows not yet coded
	ctx      []uint64  // last logged value of each source, as applied
	bufBase  []uint32  // low half of the index of the first row in a buffer
	defs     []uint32
	bufN     []uint8 // rows in a buffer
	ctxTag   []uint8
	hints    []rows.Hint
	flags    []uint8
}

// The flags of a series in a group are part of the format.
const (
	flagAlive = 1 // a series lives here; else the number is unused or given up
	// flagLost says that the state was lost: the last update may have been later than the known
	// one. Readings go to Machine.Resume until one ends the lost time.
	flagLost = 2
)

// ref returns the reference of the series at an index of g.
func (g *group) ref(index int) Ref { return g.c.refAt(g.id, index) }

// resize makes room for at least n series and keeps what the arrays hold.
func (g *group) resize(n int) {
	if n <= g.capacity {
		return
	}
	old := g.arrays
	capacity := max(g.capacity, 2)
	for capacity < n {
		capacity *= 4
	}
	capacity = min(capacity, 1<<g.c.shift)
	g.carve(g.c.space.Alloc(g.c.groupBytes(capacity)), capacity)
	copy(g.words, old.words)
	for row := range g.c.bufRows {
		copy(g.bufs[row*capacity:], old.bufs[row*old.capacity:(row+1)*old.capacity])
	}
	copy(g.ctx, old.ctx)
	copy(g.bufBase, old.bufBase)
	copy(g.defs, old.defs)
	copy(g.bufN, old.bufN)
	copy(g.ctxTag, old.ctxTag)
	copy(g.hints, old.hints)
	copy(g.flags, old.flags)
	g.c.space.Release(old.mem)
}

func (c *class) groupBytes(capacity int) int {
	return capacity * (8*(c.words+c.bufRows+c.sources) + 4*(2*c.cols+1) + c.cols + c.sources + 1)
}

// carve lays the arrays over b, widest elements first.
func (g *group) carve(b []byte, capacity int) {
	c := g.c
	g.mem, g.capacity = b, capacity
	take := func(n int) []byte {
		p := b[:n:n]
		b = b[n:]
		return p
	}
	n := capacity * c.words
	g.words = memory.View[uint64](take(8*n), n)
	n = capacity * c.bufRows
	g.bufs = memory.View[float64](take(8*n), n)
	n = capacity * c.sources
	g.ctx = memory.View[uint64](take(8*n), n)
	n = capacity * c.cols
	g.bufBase = memory.View[uint32](take(4*n), n)
	g.hints = memory.View[rows.Hint](take(4*n), n)
	g.defs = memory.View[uint32](take(4*capacity), capacity)
	g.bufN = take(n)
	g.ctxTag = take(capacity * c.sources)
	g.flags = take(capacity)
}

// unload releases the memory of the arrays. The database must hold their content.
func (g *group) unload() {
	g.c.space.Release(g.mem)
	g.forgetLongRuns()
	g.arrays = arrays{}
	g.texts, g.held, g.refused = nil, nil, nil
	g.loaded = false
}

// unloadIdle unloads a group that is wholly in the database and was not used since the last call of
// unloadIdle. The caller holds the appender's mu, because the coding context goes too.
func (g *group) unloadIdle() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.used && g.idle() {
		g.c.space.Release(g.encMem)
		g.encMem, g.enc, g.encTag, g.encReady = nil, nil, nil, false
		g.unload()
		g.c.space.unloaded.Add(1)
	}
	g.used = false
}

// idle reports whether the database holds everything that the arrays hold, and no coded run waits
// to be applied.
func (g *group) idle() bool {
	return g.loaded && g.stored && !g.dirty && g.inflight.Load() == 0 && g.nextTx == 0 &&
		len(g.frozen) == 0 && g.pend.Empty() && len(g.held) == 0
}

// state returns the rra state at index i. It shares its words with the group.
func (g *group) state(i int) rra.State {
	w := g.c.words
	st := rra.State{W: g.words[i*w : (i+1)*w : (i+1)*w]}
	if g.texts != nil {
		st.Text = g.texts[i]
	}
	return st
}

func (g *group) setText(i int, text []string) {
	switch {
	case text != nil:
		if g.texts == nil {
			g.texts = make(map[int][]string)
		}
		g.texts[i] = text
	case g.texts != nil:
		delete(g.texts, i)
	}
}

// keepText makes text the last reading of a series of one data source.
func (g *group) keepText(i int, text string) {
	if t := g.texts[i]; len(t) == 1 {
		t[0] = text
		return
	}
	g.setText(i, []string{text})
}

// groupKey appends the numbers of a class and of a group, as keys of the database have them.
func groupKey(dst []byte, class, group uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, class), group)
}

// stateKey returns the key of the state record of g.
func (g *group) stateKey() []byte { return groupKey(nil, g.c.id, g.id) }

// definition returns the definition of the series at index i, or nil if the store does not know it.
func (g *group) definition(i int) *definition { return g.c.defs.byID(g.defs[i]) }

// lastUpdate returns the time of the last update of the series at index i.
func (g *group) lastUpdate(i int) rra.Time {
	w := g.c.words
	return g.c.machine.LastUpdate(g.words[i*w : (i+1)*w])
}

// alive says whether a series lives at index i.
func (g *group) alive(i int) bool {
	return i < g.n && g.flags[i]&flagAlive != 0
}

// start begins a series at index i.
func (g *group) start(i int, d *definition, at rra.Time) {
	g.resize(i + 1)
	g.n = max(g.n, i+1)
	st := g.state(i)
	d.m.Init(st.W, at)
	g.defs[i] = d.id
	g.flags[i] = flagAlive
	delete(g.refused, i)
	g.dirty = true
}

// countHeld counts the held samples of a group that was decoded.
func (g *group) countHeld() {
	for _, h := range g.held {
		g.c.space.held.Add(int64(len(h.List)))
		g.c.space.Count(h.Size())
	}
}

// dropHeld drops the held samples of the series at an index.
func (g *group) dropHeld(index int) {
	if h := g.held[index]; h != nil {
		g.c.space.held.Add(-int64(len(h.List)))
		g.c.space.Count(-h.Size())
		delete(g.held, index)
	}
}

// The rows of a column pass through its buffer. When the last row of a block has come, all rows of
// the block are coded at once. A row that was never written is unknown, so that unknown rows at the
// beginning of a block need no place in the buffer.
//
// Row k of a column stands in row k mod Buffer of its buffers. A row of the buffers holds the
// values of all series of the group, so that series which are written together share cache lines.

// buffer returns the row of the buffers that holds row k of a column.
func (g *group) buffer(col int, st *rowblock.Geometry, k int64) []float64 {
	at := (g.c.colOff[col] + int(k&(st.Buffer-1))) * g.capacity
	return g.bufs[at : at+g.capacity]
}

// openRows appends to dst the n rows from base on that the buffer of series i holds.
func (g *group) openRows(dst []float64, i, col, n int, base uint32) []float64 {
	st := &g.c.streams[col/g.c.sources]
	for j := range n {
		dst = append(dst, g.buffer(col, st, int64(base)+int64(j))[i])
	}
	return dst
}

// push takes rows that the series at index i has closed into its buffer. Full buffers are coded.
func (g *group) push(i int, r *rra.Run) {
	c := g.c
	col := int(r.Stream)
	if c.sources != 1 {
		col = col*c.sources + int(r.DS)
	}
	st := &c.streams[r.Stream]
	at := i*c.cols + col
	n := int(g.bufN[at])
	k, count := r.First, r.Count
	if n > 0 && g.bufBase[at]+uint32(n) != uint32(k) {
		g.flush(i, col, n)
		n = 0
	}
	mask := st.Buffer - 1
	if count == 1 && n > 0 { // the common case
		g.bufs[(c.colOff[col]+int(k&mask))*g.capacity+i] = r.Value
		n++
		if k&mask == mask {
			g.flush(i, col, n)
			n = 0
		}
		g.bufN[at] = uint8(n)
		return
	}
	for count > 0 {
		if n == 0 {
			if math.IsNaN(r.Value) {
				break
			}
			if count > st.Buffer {
				k, count = g.pushRun(i, col, st, k, count, r.Value)
				continue
			}
			g.bufBase[at] = uint32(k)
		}
		m := min(count, st.Buffer-k&mask)
		for j := range m {
			g.buffer(col, st, k+j)[i] = r.Value
		}
		n += int(m)
		k += m
		count -= m
		if k&mask == 0 {
			g.flush(i, col, n)
			n = 0
		}
	}
	g.bufN[at] = uint8(n)
}

// waiting returns the coded rows since the last snapshot, ready for more rows.
func (g *group) waiting() *pending.Rows {
	g.pend.Prepare(&g.c.space.Pool, g.capacity)
	return &g.pend
}

// flush codes the n rows in the buffer of a column and adds them to the pending rows.
func (g *group) flush(i, col, n int) {
	at := i*g.c.cols + col
	var rows [rowblock.MaxBuffer]float64
	pdps := g.c.streams[col/g.c.sources].PDPs
	g.waiting().Add(i, col, g.bufBase[at], g.openRows(rows[:0], i, col, n, g.bufBase[at]), pdps, &g.hints[at])
}

// fullIndex returns the number of a row from its low half: the largest number not above last+1 that
// has this half.
func fullIndex(low uint32, last int64) int64 {
	top := last + 1
	return top - int64(uint32(top)-low)
}
