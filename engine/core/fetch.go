package core

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/pending"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/rra"
)

// A fetch reads three places: blocks in the database, coded rows that wait for a checkpoint, and
// open rows in the buffers of the group. It begins its transaction first and looks at the group
// second. If the group has meanwhile dropped rows that the transaction does not show, the fetch
// starts again. Rows that both show are read twice, which is harmless.
//
// The newest rows are not in the database yet. So a fetch first looks at the group without a
// transaction. It begins a transaction only if the directory of the group has a block with rows
// that the fetch needs.

var (
	errStale    = errors.New("the transaction is older than the group")
	errDatabase = errors.New("the database has some of the rows, and there is no transaction")
)

// Fetch returns the rows of one archive that end after start and at end or before it, in seconds
// since 1970. It widens the range to whole rows. Rows that the archive does not keep are unknown.
// For the archive [OpenRow] the range does not matter. The error wraps ErrInvalid if the range has
// more than MaxFetchRows values, ErrNotFound if ref is no series, and ErrDamaged if stored rows are
// damaged.
func (s *Store) Fetch(ctx context.Context, ref Ref, archive int, start, end int64) (Rows, error) {
	f, err := s.fetcher(ctx, true)
	if err != nil {
		return Rows{}, err
	}
	defer f.leave()
	if err := f.fetch(&Span{Ref: ref, Archive: archive, Start: start, End: end}); err != nil {
		return Rows{}, err
	}
	return f.rows, nil
}

// MaxFetchRows is the largest number of values (rows times data sources) that Fetch returns.
const MaxFetchRows = 64 << 20

// OpenRow stands for an archive in a fetch. Its only row is what a series knows behind its last
// step, up to its last update. The row has a length of its own, one step at most; see
// [rra.Machine.Open].
const OpenRow = -1

// maxFetchTime bounds the times of a fetch, so that their differences fit into 64 bits.
const maxFetchTime = 1 << 61

// processStart is where durations are measured from: time.Since costs half as much as time.Now.
var processStart = time.Now()

// timedFetch says that one in this many fetches of one series is timed. The other fetches count as
// taking as long as the timed one before them: reading the clock twice would take a quarter of a
// short fetch.
const timedFetch = 8

// A fetcher holds what one call of FetchMany reuses from series to series.
type fetcher struct {
	s      *Store
	tx     boltfile.Tx
	cur    *boltfile.Cursor // of the rows in tx
	g      *group
	dir    *rowblock.Directory
	blocks []slotBlock // of the group and stream at hand
	stream int
	from   int64 // slots that blocks covers
	to     int64
	values []float64
	rows   Rows
	def    *rra.Definition // whose names rows.DS holds
	buf    []float64
	order  []int    // of the spans
	words  []uint64 // room for a state's
	key    []byte   // has room for rowblock.OpenIn

	single, timed bool          // of the fetch at hand
	began         time.Duration // of a timed fetch, since processStart
	singles       uint          // fetches of one series so far
	took          time.Duration // how long the last timed fetch of one series took
}

type slotBlock struct {
	rowblock.Block
	slot int64
	sub  uint16
}

// FetchMany is Fetch for many spans. It reads the blocks that they share once. It calls fn once for
// each span, in an order of its own, in which spans of one archive of a series follow each other by
// time; fn must not keep the rows, unless there is one span only. FetchMany returns the first error
// that it gave to fn, or ctx's error.
func (s *Store) FetchMany(ctx context.Context, spans []Span, fn func(i int, r *Rows, err error)) error {
	f, err := s.fetcher(ctx, len(spans) == 1)
	if err != nil {
		return err
	}
	defer f.leave()
	var first error
	f.order = inOrder(f.order[:0], spans)
	for n, i := range f.order {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n%1024 == 1023 {
			f.close() // transactions are short: a long one would pin pages
		}
		err := f.fetch(&spans[i])
		fn(i, &f.rows, err)
		if err != nil && first == nil {
			first = err
		}
	}
	return first
}

// inOrder appends the indices of spans to order, by class and number, so that series of one group
// follow each other, and within that by archive and time, so that spans of the same blocks do.
func inOrder(order []int, spans []Span) []int {
	for i := range spans {
		order = append(order, i)
	}
	slices.SortFunc(order, func(i, k int) int {
		a, b := &spans[i], &spans[k]
		if c := cmp.Compare(a.Ref>>groupShift, b.Ref>>groupShift); c != 0 {
			return c
		}
		if a.Archive != b.Archive || a.Start != b.Start {
			return cmp.Or(cmp.Compare(a.Archive, b.Archive), cmp.Compare(a.Start, b.Start))
		}
		return cmp.Compare(a.Ref, b.Ref)
	})
	return order
}

// fetcher enters the store for a fetch of a single series or of many. The caller calls leave. The
// error is ctx's, or ErrClosed.
func (s *Store) fetcher(ctx context.Context, single bool) (*fetcher, error) {
	done := ctx.Err() // panics if ctx is nil, before the call is counted
	if err := s.enter(); err != nil {
		return nil, err
	}
	if done != nil {
		s.leave()
		return nil, done
	}
	f, ok := s.fetchers.Get().(*fetcher)
	if !ok {
		f = &fetcher{key: make([]byte, 0, rowblock.KeyRoom)}
	}
	f.s, f.single, f.timed = s, single, true
	if single {
		f.timed = f.singles%timedFetch == 0
		f.singles++
	}
	if f.timed {
		f.began = time.Since(processStart)
	}
	return f, nil
}

// leave ends a fetch and leaves the store.
func (f *fetcher) leave() {
	s := f.s
	f.close()
	took := f.took
	if f.timed {
		took = time.Since(processStart) - f.began
		if f.single {
			f.took = took
		}
	}
	s.fetches.Observe(took)
	f.rows.Values = nil
	s.fetchers.Put(f)
	s.leave()
}

func (f *fetcher) close() {
	f.tx.End()
	f.cur, f.g, f.dir = nil, nil, nil
	f.blocks = f.blocks[:0]
}

// fetch reads the rows of one span into f.rows.
func (f *fetcher) fetch(x *Span) error {
	s, ref := f.s, x.Ref
	c := s.catalogue.class(ref.class())
	if c == nil {
		return notFound(ref)
	}
	g := c.group(ref.number())
	if g == nil || s.catalogue.removed(ref) {
		return notFound(ref)
	}
	for {
		err := f.read(g, c.index(ref.number()), x.Archive, x.Start, x.End)
		switch err {
		case nil:
			if x.Known {
				f.rows.cut()
			}
			return nil
		case errDatabase:
			tx, err := s.db.Begin()
			if err != nil {
				return err
			}
			f.tx, f.g = tx, nil
		case errStale:
			f.close()
		default:
			f.close()
			return s.withPath(ref, err)
		}
	}
}

// read is one attempt, with a transaction if f has one.
func (f *fetcher) read(g *group, index, archive int, start, end int64) error {
	g.mu.Lock()
	w, err := f.unstored(g, index, archive, start, end)
	g.mu.Unlock()
	if err != nil || w.dir == nil {
		return err
	}
	return f.s.db.Guard(bucketRows, func() error { return f.stored(g, &w) })
}

// A wanted says which rows of a series to look for in the database.
type wanted struct {
	dir              *rowblock.Directory // as the transaction shows it; nil: no rows are stored
	index, stream    int
	from, to         int64 // rows
	slotFrom, slotTo int64
}

// unstored sets up f.rows and reads the rows that are in memory. It returns which rows to read from
// the database. The error is errDatabase if that, or loading the group, needs a transaction. The
// caller holds g.mu.
func (f *fetcher) unstored(g *group, index, archive int, start, end int64) (w wanted, err error) {
	dir, inTx := g.dir, f.tx.Open()
	if inTx {
		tx := f.tx.ID()
		if g.dirTx > tx {
			return w, errStale
		}
		if err := f.s.loader.loadGroup(g, &f.tx); err != nil {
			return w, err
		}
		if dir = g.dir; g.nextTx != 0 && g.nextTx <= tx {
			dir = g.next
		}
	} else if !g.loaded {
		return w, errDatabase
	}
	if err := g.usable(index); err != nil {
		return w, err
	}
	d := g.definition(index)
	def := d.m.Definition()
	if archive == OpenRow {
		f.open(g, dir, d, index)
		return w, nil
	}
	if archive < 0 || archive >= len(def.Archives) {
		return w, invalid("archive %d: the series has %d", archive, len(def.Archives))
	}
	a := &def.Archives[archive]
	span := a.PDPs * def.Step
	from, to := rowblock.FloorDiv(start, span), -rowblock.FloorDiv(-end, span) // rows from+1 to to
	n := len(def.Sources)
	if end < start {
		return w, invalid("the end %d is before the start %d", end, start)
	}
	if start < -maxFetchTime || end > maxFetchTime || to < from || to-from > int64(MaxFetchRows/n) {
		return w, invalid("%d rows from %d to %d: more than %d", to-from, start, end, MaxFetchRows/n)
	}
	last := rowblock.FloorDiv(g.lastUpdate(index).Unix(), span)
	stream := d.m.StreamOf(archive)
	if stream < 0 {
		f.prepare(def, from, to, span)
		f.ring(g, d, index, archive, last, from+1)
		return w, nil
	}
	w = wanted{index: index, stream: stream, from: max(from+1, last-a.Rows+1), to: min(to, last)}
	if w.from <= w.to && dir.Begun(index) < w.to*span && !g.holds(index, stream, w.from, last) {
		slot := g.c.streams[stream].Slot
		w.slotFrom, w.slotTo = rowblock.FloorDiv(w.from, slot), rowblock.FloorDiv(w.to, slot)
		if len(dir.Between(stream, w.slotFrom, w.slotTo)) > 0 {
			if !inTx {
				return w, errDatabase
			}
			w.dir = dir
		}
	}
	f.prepare(def, from, to, span)
	return w, f.memory(g, index, stream, last, w.from, w.to)
}

// holds reports whether memory has the rows of a stream from a row on. The database has older ones
// only. The caller holds g.mu.
func (g *group) holds(index, stream int, from, last int64) bool {
	for column := stream * g.c.sources; column < (stream+1)*g.c.sources; column++ {
		n, base := g.buffered(index, column)
		held := n > 0 && fullIndex(base, last) <= from
		for i := len(g.frozen); i >= 0 && !held; i-- {
			rows := &g.pend
			if i < len(g.frozen) {
				rows = g.frozen[i]
			}
			rows.Each(index, column, 1, func(e pending.Piece) bool {
				held = fullIndex(e.First, last) <= from
				return !held
			})
		}
		if !held {
			return false
		}
	}
	return true
}

// cut leaves out the rows in front of the first one with a known value.
func (r *Rows) cut() {
	known := slices.IndexFunc(r.Values, func(v float64) bool { return v == v })
	if known < 0 {
		known = len(r.Values)
	}
	rows := known / max(1, len(r.DS))
	r.Start, r.Values = r.Start+int64(rows)*r.Step, r.Values[rows*len(r.DS):]
}

// prepare sets up f.rows with unknown values.
func (f *fetcher) prepare(def *rra.Definition, from, to, span int64) {
	n := len(def.Sources)
	size := int(to-from) * n
	if f.single { // the caller keeps the values; without rows they are empty, not nil
		f.rows.Values = append([]float64{}, unknown[:min(size, len(unknown))]...)
		if size > len(unknown) {
			f.rows.Values = make([]float64, size)
			setUnknown(f.rows.Values)
		}
	} else {
		f.values = slices.Grow(f.values[:0], size)[:size]
		setUnknown(f.values)
		f.rows.Values = f.values
	}
	f.rows.Start, f.rows.End, f.rows.Step, f.rows.First = from*span, to*span, span, 0
	if f.def != def {
		f.def, f.rows.DS = def, make([]string, n)
		for j := range def.Sources {
			f.rows.DS[j] = def.Sources[j].Name
		}
	}
}

// open sets up f.rows with the open row. The caller holds g.mu.
func (f *fetcher) open(g *group, dir *rowblock.Directory, d *definition, index int) {
	f.prepare(d.m.Definition(), 0, 1, 1)
	st := rra.State{W: g.loadWords(index, f.words), Text: g.texts[index]}
	if g.c.tabular {
		f.words = st.W
	}
	f.rows.Start, f.rows.End = d.m.Open(&st, f.rows.Values)
	f.rows.Step = f.rows.End - f.rows.Start
	f.rows.First = g.first(dir, index, f.rows.Start, f.rows.End)
}

// first returns the second behind which archives know something of the series at an index, or the
// open row, which begins at open and ends at last. It may be an earlier one, of rows that have
// expired. It is 0 if nobody can say. The caller holds g.mu.
func (g *group) first(dir *rowblock.Directory, index int, open, last int64) int64 {
	c := g.c
	if c.seasonal {
		return 0
	}
	first := min(open, dir.Begun(index))
	span, newest := int64(0), int64(0) // of the rows at hand; a division costs more than the rest
	at := func(column int, row uint32) {
		if s := c.streams[column/c.sources].Span; s != span {
			span, newest = s, rowblock.FloorDiv(last, s)
		}
		first = min(first, (fullIndex(row, newest)-1)*span)
	}
	piece := func(e pending.Piece) bool {
		at(e.Column, e.First)
		return true
	}
	g.pend.Each(index, 0, c.cols, piece)
	for _, frozen := range g.frozen {
		frozen.Each(index, 0, c.cols, piece)
	}
	for column := range c.cols {
		if n, row := g.buffered(index, column); n > 0 {
			at(column, row)
		}
	}
	return max(first, 0)
}

// unknown holds unknown values to copy from: copying is several times as fast as a loop.
var unknown = func() (values [512]float64) {
	for i := range values {
		values[i] = math.NaN()
	}
	return values
}()

func setUnknown(values []float64) {
	for len(values) > 0 {
		values = values[copy(values, unknown[:]):]
	}
}

// window returns the part of f.values for rows from to to of source j.
func (f *fetcher) window(j int, from, to int64) rowblock.Target {
	n := len(f.rows.DS)
	first := f.rows.Start/f.rows.Step + 1
	rows := f.rows.Values[int(from-first)*n+j:]
	return rowblock.Target{From: from, Values: rows[:min(len(rows), int(to-from+1)*n)], Step: n}
}

// ring reads an archive whose rows are part of the state.
func (f *fetcher) ring(g *group, d *definition, index, archive int, last, first int64) {
	st := g.state(index)
	for j := range f.rows.DS {
		f.buf = d.m.RingRow(&st, archive, j, f.buf[:0])
		p := rowblock.Target{From: first, Values: f.rows.Values[min(j, len(f.rows.Values)):], Step: len(f.rows.DS)}
		p.Put(last-int64(len(f.buf))+1, f.buf)
	}
}

// memory reads the rows that are not in the database. The caller holds g.mu.
func (f *fetcher) memory(g *group, index, stream int, last, from, to int64) (err error) {
	if from > to {
		return nil
	}
	c := g.c
	st := &c.streams[stream]
	first := stream * c.sources // column
	begun := 0                  // columns whose older pieces have no wanted rows
	piece := func(e pending.Piece) bool {
		k := fullIndex(e.First, last)
		if k > to || k+int64(e.Rows) <= from {
			return true
		}
		p := f.window(e.Column-first, from, to)
		f.buf, _, err = p.Read(k, e.Rows, e.Code, st.PDPs, f.buf)
		if k <= from {
			begun++
		}
		return err == nil && begun < c.sources
	}
	g.pend.Each(index, first, c.sources, piece)
	for i := len(g.frozen) - 1; i >= 0 && err == nil && begun < c.sources; i-- {
		g.frozen[i].Each(index, first, c.sources, piece)
	}
	for j := range c.sources {
		if n, base := g.buffered(index, first+j); n > 0 {
			f.buf = g.openRows(f.buf[:0], index, first+j, n, base)
			p := f.window(j, from, to)
			p.Put(fullIndex(base, last), f.buf)
		}
	}
	return err
}

// stored reads the rows of the database.
func (f *fetcher) stored(g *group, w *wanted) error {
	c := g.c
	st := &c.streams[w.stream]
	if f.g != g || f.dir != w.dir || f.stream != w.stream || f.from > w.slotFrom || f.to < w.slotTo {
		f.g, f.dir, f.stream, f.from, f.to = g, w.dir, w.stream, w.slotFrom, w.slotTo
		if err := f.readBlocks(g, w); err != nil {
			f.g = nil // the next series of the group must not use half of the blocks
			return err
		}
	}
	for j := range c.sources {
		p := f.window(j, w.from, w.to)
		column := w.index*c.sources + j
		for i := range f.blocks {
			b := &f.blocks[i]
			if b.slot < w.slotFrom || b.slot > w.slotTo {
				continue
			}
			col, err := b.Column(column)
			if err == nil && len(col) > 0 {
				f.buf, err = rowblock.ReadColumn(col, st, b.slot, &p, f.buf)
			}
			if err == nil {
				continue
			}
			if err := f.unread(f.s.loader.damagedRows(&f.tx, g, w.stream, b.slot, b.sub, column, err)); err != nil {
				return err
			}
		}
	}
	return nil
}

// unread returns the damage of rows, or nil if the store is one that Salvage reads.
func (f *fetcher) unread(e *DamageError) error {
	if f.s.options.salvage == nil {
		return e
	}
	f.s.options.salvage.unread(e)
	return nil
}

// readBlocks finds the blocks of the slots that w names, and checks their heads.
func (f *fetcher) readBlocks(g *group, w *wanted) error {
	f.blocks = f.blocks[:0]
	if f.cur == nil {
		f.cur = f.tx.Bucket(bucketRows).Cursor()
	}
	for _, e := range w.dir.Between(w.stream, w.slotFrom, w.slotTo) {
		for sub := e.Lo; sub < e.Hi; sub++ {
			f.key = rowblock.Key(f.key[:0], g.c.id, w.stream, e.Slot, sub, g.id)
			k, v := f.cur.Seek(f.key)
			b, err := rowblock.Block{}, damage.ErrMissing
			if bytes.Equal(k, f.key) {
				b, err = rowblock.OpenIn(f.key, v)
			}
			if err == nil {
				f.blocks = append(f.blocks, slotBlock{b, e.Slot, sub})
			} else if err := f.unread(f.s.loader.damagedRows(&f.tx, g, w.stream, e.Slot, sub, -1, err)); err != nil {
				return err
			}
		}
	}
	return nil
}
