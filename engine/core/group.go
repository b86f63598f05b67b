package core

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/internal/held"
	"github.com/rondo-db/rondo/engine/internal/labelindex"
	"github.com/rondo-db/rondo/engine/internal/memory"
	"github.com/rondo-db/rondo/engine/internal/numbers"
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

	stateSize int // bytes of the last snapshot's state

	pos      wal.Pos // the last record that the state includes
	applying wal.Pos // the last record that this process has applied; 0 after loading

	arrays

	// These are by index of the series.
	texts   map[int][]string // last readings that are kept as text
	refused map[int]error    // why the state of a series cannot be used
	held    map[int]*held.Samples

	counted wal.Pos // of the newest digest that has the states

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
	number *numbers.Numbered // of the record, or nil
	h      runHeader
	window rra.Time // the reorder window then in force
}

// The arrays of a group hold its series side by side; they share one block of memory.
type arrays struct {
	capacity int
	pitch    int // how far rows of the buffers, and words of states, lie apart
	mem      []byte
	words    []uint64  // rra states, word by word or series by series: see class.tabular
	bufs     []float64 // rows not yet coded
	ctx      []uint64  // last logged value of each source, as applied
	bufBase  []uint32  // by column, then series: low half of the index of the first row in a buffer
	defs     []uint32
	bufN     []uint8 // likewise: rows in a buffer
	ctxTag   []uint8
	hints    []rows.Hint // likewise
	flags    []uint8
}

// A column is what the buffers of one column know beside their rows, by series.
type column struct {
	n     []uint8
	base  []uint32
	hints []rows.Hint
}

// column returns what the buffers of a column know.
func (a *arrays) column(col int) column {
	from, to := col*a.capacity, (col+1)*a.capacity
	return column{a.bufN[from:to:to], a.bufBase[from:to:to], a.hints[from:to:to]}
}

// buffered returns how many rows the buffer of a series holds in a column, and the low half of the
// index of the first.
func (a *arrays) buffered(i, col int) (n int, base uint32) {
	at := col*a.capacity + i
	return int(a.bufN[at]), a.bufBase[at]
}

// flagAlive is the flag of a series in a group, part of the format: a series lives here; else the
// number is unused or given up.
const flagAlive = 1

// ref returns the reference of the series at an index of g.
func (g *group) ref(index int) Ref { return g.c.refAt(g.id, index) }

// resize makes room for at least n series and keeps what the arrays hold.
func (g *group) resize(n int) {
	if n <= g.capacity {
		return
	}
	old := g.arrays
	capacity := g.roomFor(n)
	g.carve(g.c.space.Alloc(g.c.groupBytes(capacity)), capacity)
	if g.c.tabular {
		for w := range g.c.words {
			copy(g.words[w*g.pitch:], old.words[w*old.pitch:w*old.pitch+old.capacity])
		}
	} else {
		copy(g.words, old.words)
	}
	for row := range g.c.bufRows {
		copy(g.bufs[row*g.pitch:], old.bufs[row*old.pitch:row*old.pitch+old.capacity])
	}
	for col := range g.c.cols {
		from, to := old.column(col), g.column(col)
		copy(to.n, from.n)
		copy(to.base, from.base)
		copy(to.hints, from.hints)
	}
	copy(g.ctx, old.ctx)
	copy(g.defs, old.defs)
	copy(g.ctxTag, old.ctxTag)
	copy(g.flags, old.flags)
	g.c.space.Release(old.mem)
}

// roomFor returns the capacity of g once it has room for at least n series. A group behind others
// has room for all its series at once, so that they are not moved.
func (g *group) roomFor(n int) int {
	capacity := max(g.capacity, 2)
	for capacity < n || g.id > 0 && capacity < 1<<g.c.shift {
		capacity *= 4
	}
	return min(capacity, 1<<g.c.shift)
}

// pitch returns how far the rows of the buffers lie apart, in series. For large groups it is no
// power of two: else the same place in all rows would share a few lines of the processor's caches.
func pitch(capacity int) int { return capacity + capacity/32 }

// stateWords returns how many words the states of a group take.
func (c *class) stateWords(capacity int) int {
	if c.tabular {
		return pitch(capacity) * c.words
	}
	return capacity * c.words
}

func (c *class) groupBytes(capacity int) int {
	return 8*(c.stateWords(capacity)+pitch(capacity)*c.bufRows) +
		capacity*(8*c.sources+4*(2*c.cols+1)+c.cols+c.sources+1)
}

// carve lays the arrays over b, widest elements first.
func (g *group) carve(b []byte, capacity int) {
	c := g.c
	g.mem, g.capacity, g.pitch = b, capacity, pitch(capacity)
	take := func(n int) []byte {
		p := b[:n:n]
		b = b[n:]
		return p
	}
	n := c.stateWords(capacity)
	g.words = memory.View[uint64](take(8*n), n)
	n = g.pitch * c.bufRows
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
	g.arrays = arrays{}
	g.texts, g.held, g.refused = nil, nil, nil
	g.loaded = false
}

// unloadIdle unloads a group that is wholly in the database and was not used since the last call of
// unloadIdle. The caller holds the appender's mu, because the coding context goes too. Samples that
// a reorder window holds keep a group in memory. Samples of a former window do not, for the next
// samples of their series let them go, and those have to be admitted first.
func (g *group) unloadIdle(reorders bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.used && g.idle() && (len(g.held) == 0 || !reorders) {
		g.c.space.Release(g.encMem)
		g.encMem, g.enc, g.encTag, g.encReady = nil, nil, nil, false
		g.drop()
	}
	g.used = false
}

// drop unloads a group that is idle.
func (g *group) drop() {
	for i := range g.held {
		g.dropHeld(i)
	}
	g.unload()
	g.c.space.unloaded.Add(1)
}

// idle reports whether the database holds everything that the arrays hold, and no coded run waits
// to be applied.
func (g *group) idle() bool {
	return g.loaded && g.stored && !g.dirty && g.inflight.Load() == 0 && g.nextTx == 0 &&
		len(g.frozen) == 0 && g.pend.Empty()
}

// state returns a copy of the rra state at index i, except that it shares texts with the group. In
// a class that is not tabular it shares the words too.
func (g *group) state(i int) rra.State {
	return rra.State{W: g.loadWords(i, nil), Text: g.texts[i]}
}

// table returns the states of a group of a tabular class.
func (g *group) table() rra.Table { return rra.Table{W: g.words, N: g.pitch} }

// loadWords returns the words of the state at index i, for storeWords. In a tabular class they are
// a copy, in buf if that is not nil.
func (g *group) loadWords(i int, buf []uint64) []uint64 {
	w := g.c.words
	if !g.c.tabular {
		return g.words[i*w : (i+1)*w : (i+1)*w]
	}
	if cap(buf) < w {
		buf = make([]uint64, w)
	}
	g.table().Load(i, buf[:w])
	return buf[:w]
}

// storeWords makes w the words of the state at index i.
func (g *group) storeWords(i int, w []uint64) {
	if g.c.tabular {
		g.table().Store(i, w)
		return
	}
	copy(g.words[i*g.c.words:], w)
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

// A groupID names a group by the numbers of its class and its own.
type groupID = labelindex.Group

// stateKey returns the key of the state record of g.
func (g *group) stateKey() []byte { return groupID{Class: g.c.id, Number: g.id}.AppendKey(nil) }

// definition returns the definition of the series at index i, or nil if the store does not know it.
func (g *group) definition(i int) *definition { return g.c.defs.byID(g.defs[i]) }

// lastUpdate returns the time of the last update of the series at index i.
func (g *group) lastUpdate(i int) rra.Time {
	if g.c.tabular {
		return g.table().LastUpdate(i)
	}
	return g.c.machine.LastUpdate(g.loadWords(i, nil))
}

// alive says whether a series lives at index i.
func (g *group) alive(i int) bool {
	return i < g.n && g.flags[i]&flagAlive != 0
}

// start begins a series at index i. buf is room for its words, or nil. start returns buf, or the
// room that it has made.
func (g *group) start(i int, d *definition, at rra.Time, buf []uint64) []uint64 {
	g.resize(i + 1)
	g.n = max(g.n, i+1)
	w := g.loadWords(i, buf)
	d.m.Init(w, at)
	g.storeWords(i, w)
	g.defs[i] = d.id
	g.flags[i] = flagAlive
	delete(g.refused, i)
	g.dirty = true
	if g.c.tabular {
		return w
	}
	return buf
}

// startMore begins n-1 series behind index i in the same way as the series at i, whose words are w.
// The class is tabular.
func (g *group) startMore(i, n int, w []uint64) {
	g.n = max(g.n, i+n)
	g.table().Fill(i, n, w)
	for j := i + 1; j < i+n; j++ {
		g.defs[j], g.flags[j] = g.defs[i], flagAlive
		delete(g.refused, j)
	}
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

// fullIndex returns the number of a row from its low half: the largest number not above last+1 that
// has this half.
func fullIndex(low uint32, last int64) int64 {
	top := last + 1
	return top - int64(uint32(top)-low)
}

// The rows of a column pass through its buffer. When the last row of a block has come, all rows of
// the block are coded at once. A row that was never written is unknown, so that unknown rows at the
// beginning of a block need no place in the buffer.
//
// Row k of a column stands in row k mod Buffer of its buffers. A row of the buffers holds the
// values of all series of the group, so that series which are written together share cache lines.

// buffer returns the row of the buffers that holds row k of a column.
func (g *group) buffer(col int, st *rowblock.Geometry, k int64) []float64 {
	at := (g.c.colOff[col] + int(k&(st.Buffer-1))) * g.pitch
	return g.bufs[at : at+g.capacity]
}

// openRows appends to dst the n rows from base on that the buffer of series i holds.
func (g *group) openRows(dst []float64, i, col, n int, base uint32) []float64 {
	c := g.c
	at := len(dst)
	dst = slices.Grow(dst, n)[:at+n]
	// A buffer never holds rows of two blocks, so they stand one after the other.
	from := (c.colOff[col]+int(base)&int(c.streams[col/c.sources].Buffer-1))*g.pitch + i
	for j := range dst[at:] {
		dst[at+j] = g.bufs[from]
		from += g.pitch
	}
	return dst
}

// A bufferCoder is the working memory with which a shard codes the rows of full buffers.
type bufferCoder struct {
	rows.Coder
	vals []float64 // the rows at hand, series by series
}

// room returns room for n rows.
func (co *bufferCoder) room(n int) []float64 {
	if n > len(co.vals) {
		co.vals = make([]float64, n)
	}
	return co.vals[:n]
}

// push takes rows that the series at index i has closed into its buffer. Full buffers are coded.
func (g *group) push(co *bufferCoder, i int, r *rra.Run) {
	c := g.c
	col := int(r.Stream)
	if c.sources != 1 {
		col = col*c.sources + int(r.DS)
	}
	st := &c.streams[r.Stream]
	at := col*g.capacity + i
	n := int(g.bufN[at])
	k, count := r.First, r.Count
	if n > 0 && g.bufBase[at]+uint32(n) != uint32(k) {
		g.flush(co, i, col, n)
		n = 0
	}
	mask := st.Buffer - 1
	if count == 1 && n > 0 { // the common case
		g.bufs[(c.colOff[col]+int(k&mask))*g.pitch+i] = r.Value
		n++
		if k&mask == mask {
			g.flush(co, i, col, n)
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
			g.flush(co, i, col, n)
			n = 0
		}
	}
	g.bufN[at] = uint8(n)
}

// pushRun puts count rows of one value, from row k on, into pending rows. A reading after a long
// silence, still within the heartbeat, closes that many at once: up to a whole archive. They are
// never written one by one: all rows of a slot are one piece, which takes a few bytes however many
// there are. count is more than a buffer holds. pushRun returns the first row that is left and how
// many are: no more than the buffer holds.
func (g *group) pushRun(i, col int, st *rowblock.Geometry, k, count int64, v float64) (int64, int64) {
	for count > st.Buffer {
		n := min(count, (rowblock.FloorDiv(k, st.Slot)+1)*st.Slot-k)
		g.waiting().AddRun(i, col, uint32(k), int(n), v, st.PDPs)
		k += n
		count -= n
	}
	return k, count
}

// waiting returns the coded rows since the last snapshot, ready for more rows.
func (g *group) waiting() *pending.Rows {
	g.pend.Prepare(&g.c.space.Pool, g.capacity)
	return &g.pend
}

// flush codes the n rows in the buffer of a column and adds them to the pending rows.
func (g *group) flush(co *bufferCoder, i, col, n int) {
	at := col*g.capacity + i
	base := g.bufBase[at]
	vals := g.openRows(co.room(n)[:0], i, col, n, base)
	g.waiting().Add(&co.Coder, i, col, base, vals, g.c.streams[col/g.c.sources].PDPs, &g.hints[at])
}

// pushBlock takes a row of a column of many series into their buffers.
func (g *group) pushBlock(co *bufferCoder, index []int32, r *rra.BlockRows) {
	c := g.c
	col := int(r.Stream)*c.sources + int(r.DS)
	st := &c.streams[r.Stream]
	mask := st.Buffer - 1
	line := g.buffer(col, st, r.K)
	b := g.column(col)
	k, vals := uint32(r.K), r.Values[:len(index)]
	counts := b.n
	bases, line := b.base[:len(counts)], line[:len(counts)]
	for j, i := range index {
		v := vals[j]
		switch n := counts[i]; {
		case n == 0:
			if v == v {
				bases[i], counts[i], line[i] = k, 1, v
			}
		case bases[i]+uint32(n) == k:
			line[i] = v
			counts[i] = n + 1
		default:
			g.push(co, int(i), &rra.Run{Stream: r.Stream, DS: r.DS, First: r.K, Count: 1, Value: v})
		}
	}
	if r.K&mask != mask {
		return
	}
	g.flushBlock(co, index, col, st)
}

// flushBlock codes the buffers of a column of many series, whose last rows have come, and empties
// them. It reads the buffers row by row, as they lie in memory.
func (g *group) flushBlock(co *bufferCoder, index []int32, col int, st *rowblock.Geometry) {
	size := int(st.Buffer)
	vals := co.room(size * len(index))
	for j := range size {
		line := g.buffer(col, st, int64(j))
		at := j
		for _, i := range index {
			vals[at] = line[i]
			at += size
		}
	}
	b, waiting := g.column(col), g.waiting()
	for j, i := range index {
		if n := int(b.n[i]); n > 0 {
			waiting.Add(&co.Coder, int(i), col, b.base[i], vals[(j+1)*size-n:(j+1)*size], st.PDPs, &b.hints[i])
			b.n[i] = 0
		}
	}
}
