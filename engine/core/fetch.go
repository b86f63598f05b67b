package core

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"time"

	"github.com/rondo-db/rondo/rra"
)

// A fetch reads three places: blocks in the database, coded rows that wait for
// a checkpoint, and the open rows of the state. It opens its transaction first
// and looks at the group second. If the group has meanwhile forgotten rows that
// the transaction does not show, it starts again; that it sees rows twice is harmless.

var (
	errMissing = errors.New("it is missing")
	errStale   = errors.New("the transaction is older than the group")
)

// Fetch returns the rows of one archive that end in (start, end], seconds, widened to whole rows.
// Rows the archive does not keep are unknown. At most MaxFetchRows rows are returned.
func (s *Store) Fetch(ctx context.Context, ref Ref, archive int, start, end int64) (Rows, error) {
	var out Rows
	err := s.FetchMany(ctx, []Ref{ref}, archive, start, end, func(_ int, r *Rows, err error) {
		if err == nil {
			out = *r
			out.Values = slices.Clone(r.Values)
		}
	})
	return out, err
}

// MaxFetchRows bounds the values (rows times data sources) of one series' answer.
const MaxFetchRows = 64 << 20

// maxFetchTime keeps differences of the times of a fetch within 64 bits.
const maxFetchTime = 1 << 61

// processStart is what durations are measured from: time.Since costs half of time.Now.
var processStart = time.Now()

// A fetcher is what one call of FetchMany reuses from series to series.
type fetcher struct {
	s      *Store
	tx     readTx
	g      *group
	dir    *directory
	blocks []slotBlock // of the group and stream at hand
	stream int
	from   int64 // slots that blocks covers
	to     int64
	values []float64
	rows   Rows
	def    *rra.Definition // whose names rows.DS holds
	buf    []float64
	key    []byte
}

type slotBlock struct {
	block
	slot int64
	sub  uint16
}

// FetchMany is Fetch for many series; blocks they share are read once. fn is called once for each
// series, in an order of the store's choosing, and must not keep the rows. The error returned is
// the first that fn was given, or ctx's.
func (s *Store) FetchMany(ctx context.Context, refs []Ref, archive int, start, end int64, fn func(i int, r *Rows, err error)) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	began := time.Since(processStart)
	defer func() { s.fetches.Observe(time.Since(processStart) - began) }()
	f := s.fetchers.Get().(*fetcher)
	defer s.fetchers.Put(f)
	defer f.close()
	f.s = s
	var first error
	one := func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := f.fetch(refs[i], archive, start, end)
		fn(i, &f.rows, err)
		if err != nil && first == nil {
			first = err
		}
		return nil
	}
	if len(refs) == 1 {
		if err := one(0); err != nil {
			return err
		}
		return first
	}
	order := make([]int, len(refs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if refs[a] < refs[b] {
			return -1
		}
		return int(min(1, refs[a]-refs[b]))
	})
	for n, i := range order {
		if n%1024 == 1023 {
			f.close() // transactions are short: a long one would pin pages
		}
		if err := one(i); err != nil {
			return err
		}
	}
	return first
}

func (f *fetcher) close() {
	f.tx.end()
	f.g, f.dir = nil, nil
	f.blocks = f.blocks[:0]
}

// fetch reads the rows of one series into f.rows.
func (f *fetcher) fetch(ref Ref, archive int, start, end int64) error {
	s := f.s
	c := s.class(ref.class())
	if c == nil {
		return fmt.Errorf("series %#x: %w", uint64(ref), ErrNotFound)
	}
	g := c.group(ref.number())
	if g == nil || s.catalogue.removed(ref) {
		return fmt.Errorf("series %#x: %w", uint64(ref), ErrNotFound)
	}
	for {
		if f.tx.Tx == nil {
			tx, err := s.db.begin()
			if err != nil {
				return err
			}
			f.tx, f.g = tx, nil
		}
		err := f.read(g, c.index(ref.number()), archive, start, end)
		if err == nil {
			return nil
		}
		f.close()
		if err != errStale {
			return s.withPath(ref, err)
		}
	}
}

// read is one attempt with the transaction at hand.
func (f *fetcher) read(g *group, index, archive int, start, end int64) error {
	g.mu.Lock()
	if g.dirTx > f.tx.ID() {
		g.mu.Unlock()
		return errStale
	}
	if err := g.load(f.s, f.tx.Tx); err != nil {
		g.mu.Unlock()
		return err
	}
	if err := g.usable(index); err != nil {
		g.mu.Unlock()
		return err
	}
	dir := g.dir
	if g.nextTx != 0 && g.nextTx <= f.tx.ID() {
		dir = g.next
	}
	d := f.s.definition(g.defs[index])
	def := d.m.Definition()
	if archive < 0 || archive >= len(def.Archives) {
		g.mu.Unlock()
		return invalid("archive %d: the series has %d", archive, len(def.Archives))
	}
	a := &def.Archives[archive]
	span := a.PDPs * def.Step
	from, to := floorDiv(start, span), -floorDiv(-end, span) // rows from+1 to to
	n := len(def.Sources)
	if end < start {
		g.mu.Unlock()
		return invalid("the end %d is before the start %d", end, start)
	}
	if start < -maxFetchTime || end > maxFetchTime || to < from || to-from > int64(MaxFetchRows/n) {
		g.mu.Unlock()
		return invalid("%d rows from %d to %d: more than %d", to-from, start, end, MaxFetchRows/n)
	}
	f.prepare(def, from, to, span)
	last := floorDiv(d.m.LastUpdate(g.words[index*g.c.words:(index+1)*g.c.words]).Unix(), span)
	stream := d.m.StreamOf(archive)
	if stream < 0 {
		f.ring(g, d, index, archive, last, from+1)
		g.mu.Unlock()
		return nil
	}
	keepFrom, keepTo := max(from+1, last-a.Rows+1), min(to, last)
	if err := f.memory(g, index, stream, last, keepFrom, keepTo); err != nil {
		g.mu.Unlock()
		return err
	}
	lagging := dir.lagging(index)
	g.mu.Unlock()
	if keepFrom > keepTo {
		return nil
	}
	return f.s.db.guard(bucketRows, func() error {
		return f.stored(g, dir, index, stream, keepFrom, keepTo, lagging)
	})
}

// prepare sets up f.rows with unknown values.
func (f *fetcher) prepare(def *rra.Definition, from, to, span int64) {
	n := len(def.Sources)
	f.values = slices.Grow(f.values[:0], int(to-from)*n)[:int(to-from)*n]
	for i := range f.values {
		f.values[i] = math.NaN()
	}
	f.rows.Start, f.rows.End, f.rows.Step = from*span, to*span, span
	f.rows.Values = f.values
	if f.def != def {
		f.def, f.rows.DS = def, make([]string, n)
		for j := range def.Sources {
			f.rows.DS[j] = def.Sources[j].Name
		}
	}
}

// window returns the part of f.values for rows from to to of source j.
func (f *fetcher) window(j int, from, to int64) span {
	n := len(f.rows.DS)
	first := f.rows.Start/f.rows.Step + 1
	rows := f.values[int(from-first)*n+j:]
	return span{from: from, rows: rows[:min(len(rows), int(to-from+1)*n)], step: n}
}

// ring reads an archive whose rows are part of the state.
func (f *fetcher) ring(g *group, d *definition, index, archive int, last, first int64) {
	st := g.state(index)
	for j := range f.rows.DS {
		f.buf = d.m.RingRow(&st, archive, j, f.buf[:0])
		p := span{from: first, rows: f.values[min(j, len(f.values)):], step: len(f.rows.DS)}
		p.put(last-int64(len(f.buf))+1, f.buf)
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
	begun := 0                  // columns of which older entries have nothing more
	get := func(e entry) bool {
		if e.col < first || e.col >= first+c.sources {
			return true
		}
		k := fullIndex(e.base, last)
		if k > to || k+int64(e.rows) <= from {
			return true
		}
		p := f.window(e.col-first, from, to)
		f.buf, _, err = p.read(k, e.rows, e.data, st.pdps, f.buf)
		if k <= from {
			begun++
		}
		return err == nil && begun < c.sources
	}
	g.pend.of(index, get)
	for i := len(g.frozen) - 1; i >= 0 && err == nil && begun < c.sources; i-- {
		g.frozen[i].of(index, get)
	}
	for j := range c.sources {
		at := index*c.cols + first + j
		for _, r := range g.longRuns[at] {
			p := f.window(j, from, to)
			p.fill(r.first, r.rows, r.value)
		}
		if n := int(g.bufN[at]); n > 0 {
			f.buf = g.openRows(f.buf[:0], index, first+j, n, g.bufBase[at])
			p := f.window(j, from, to)
			p.put(fullIndex(g.bufBase[at], last), f.buf)
		}
	}
	return err
}

// stored reads the rows of the database.
func (f *fetcher) stored(g *group, dir *directory, index, stream int, from, to int64, lagging lagEntry) error {
	c := g.c
	st := &c.streams[stream]
	slotFrom, slotTo := floorDiv(from, st.slot), floorDiv(to, st.slot)
	if f.g != g || f.dir != dir || f.stream != stream || f.from != slotFrom || f.to != slotTo {
		f.g, f.dir, f.stream, f.from, f.to = g, dir, stream, slotFrom, slotTo
		if err := f.readBlocks(g, dir, slotFrom, slotTo); err != nil {
			f.g = nil // the next series of the group is not to see half of them
			return err
		}
	}
	if lagging.records > 0 {
		if err := f.countLagged(g, index, lagging); err != nil {
			return err
		}
	}
	for j := range c.sources {
		p := f.window(j, from, to)
		for i := range f.blocks {
			b := &f.blocks[i]
			col, err := b.column(index*c.sources + j)
			if err == nil && len(col) > 0 {
				f.buf, err = readColumn(col, st, b.slot, &p, f.buf)
			}
			if err != nil {
				return f.s.damagedRows(f.tx.Tx, g, stream, b.slot, b.sub, index*c.sources+j, err)
			}
		}
		if lagging.records > 0 {
			if err := f.lagged(g, index*c.sources+j, stream, slotFrom, slotTo, &p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *fetcher) readBlocks(g *group, dir *directory, from, to int64) error {
	f.blocks = f.blocks[:0]
	cur := f.tx.Bucket(bucketRows).Cursor()
	for _, e := range dir.between(f.stream, from, to) {
		for sub := e.lo; sub < e.hi; sub++ {
			f.key = rowKey(f.key[:0], g.c.id, f.stream, e.slot, sub, g.id)
			k, v := cur.Seek(f.key)
			b, err := block{}, errMissing
			if bytes.Equal(k, f.key) {
				b, err = openBlock(f.key, v)
			}
			if err != nil {
				return f.s.damagedRows(f.tx.Tx, g, f.stream, e.slot, sub, -1, err)
			}
			f.blocks = append(f.blocks, slotBlock{b, e.slot, sub})
		}
	}
	return nil
}

// countLagged makes sure that no record is missing of a series that has fallen behind its group.
func (f *fetcher) countLagged(g *group, index int, want lagEntry) error {
	found, first, cur := lagEntry{index: want.index}, index*g.c.sources, f.tx.Bucket(bucketLag).Cursor()
	key := lagKey(g, first, 0, -1<<63)
	for k, _ := cur.Seek(key); len(k) == lagKeySize && bytes.Equal(k[:8], key[:8]) && lagColumn(k) < first+g.c.sources; k, _ = cur.Next() {
		found.records++
		found.keys ^= crc32.Checksum(k, castagnoli)
	}
	if found == want {
		return nil
	}
	e := damagedValue(bucketLag, key[:lagColumnSize], fmt.Errorf("%d records of rows, not the %d that were written", found.records, want.records))
	e.Series = f.s.pathOf(f.tx.Tx, g.c, g.id, index)
	f.s.noteDamage(e)
	return e
}

// lagged reads the rows of a series that has fallen behind its group.
func (f *fetcher) lagged(g *group, column, stream int, from, to int64, p *span) error {
	st := &g.c.streams[stream]
	cur := f.tx.Bucket(bucketLag).Cursor()
	key := lagKey(g, column, stream, from)
	for k, v := cur.Seek(key); len(k) == lagKeySize && bytes.Equal(k[:12], key[:12]); k, v = cur.Next() {
		slot := int64(binary.BigEndian.Uint64(k[12:]) ^ 1<<63)
		if slot > to {
			break
		}
		rows, err := cutSum(v, bucketLag, k)
		if err == nil {
			f.buf, err = readColumn(rows, st, slot, p, f.buf)
		}
		if err != nil {
			return f.s.damagedLag(f.tx.Tx, g, column, stream, slot, err)
		}
	}
	return nil
}

// Info returns a series and a copy of its state.
func (s *Store) Info(ref Ref) (Info, error) {
	if err := s.enter(); err != nil {
		return Info{}, err
	}
	defer s.leave()
	rec, err := s.record(ref)
	if err != nil {
		return Info{}, err
	}
	info := Info{Series: s.seriesOf(ref, rec)}
	err = s.withSeries(ref, func(g *group, index int) {
		st := g.state(index)
		info.State = rra.State{W: slices.Clone(st.W), Text: slices.Clone(st.Text)}
		info.Machine = s.definition(g.defs[index]).m
	})
	return info, err
}

// Last returns the time of the last update of a series.
func (s *Store) Last(ref Ref) (at rra.Time, err error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	if s.catalogue.removed(ref) {
		return 0, fmt.Errorf("series %#x: %w", uint64(ref), ErrNotFound)
	}
	err = s.withSeries(ref, func(g *group, index int) {
		at = s.definition(g.defs[index]).m.LastUpdate(g.words[index*g.c.words : (index+1)*g.c.words])
	})
	return at, err
}

// withSeries calls fn with the loaded group of a living series, locked.
func (s *Store) withSeries(ref Ref, fn func(g *group, index int)) error {
	c := s.class(ref.class())
	var g *group
	if c != nil {
		g = c.group(ref.number())
	}
	if g == nil {
		return fmt.Errorf("series %#x: %w", uint64(ref), ErrNotFound)
	}
	if err := s.lockGroup(g); err != nil {
		return err
	}
	index := c.index(ref.number())
	err := g.usable(index)
	if err == nil {
		fn(g, index)
	}
	g.mu.Unlock()
	return s.withPath(ref, err)
}
