package core

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rows"
	"github.com/rondo-db/rondo/wal"
)

// A Copy is a whole series: what Export gives and Import takes.
type Copy struct {
	Path       string
	Labels     []Label
	Definition *rra.Definition
	// State is one of the definition's machine. Rows of SEASONAL and DEVSEASONAL archives are part
	// of it.
	State rra.State
	// Rows holds those of each other archive, oldest first, the last one that which ended last, at
	// or before the last update: row i of source j is Rows[archive][i*sources+j]. Rows that are
	// left out at the front are unknown.
	Rows [][]float64

	last rra.Time // of Export: the last update
	lost bool     // of Export: the state was lost (flagLost)
}

// Import makes a series of every copy, with its state and all its rows; each is there whole or not
// at all. With overwrite it takes the place of a series of the same path. out[i] is the outcome of
// copies[i], as CreateBatch gives it. Nothing of copies is kept. Archives with one PDP a row whose
// rows differ, which those that rrdtool has filled do not, get rows of their own (rra.Archive.Own).
func (s *Store) Import(ctx context.Context, copies []Copy, overwrite bool) ([]Created, error) {
	out := make([]Created, len(copies))
	tickets := make([]Ticket, len(copies))
	applied := make([]bool, len(copies))
	reserved := make([]*reservation, len(copies))
	var under []int // copies on their way
	var failed error
	for i := range copies {
		x, rec, err := s.prepareImport(&copies[i], overwrite, 0)
		if err != nil {
			out[i].Err = fmt.Errorf("import %q: %w", copies[i].Path, err)
			continue
		}
		queued, err := s.enqueueImport(ctx, &tickets[i], x, rec, &out[i], &applied[i])
		if err != nil {
			failed = err
			break
		}
		if queued {
			under = append(under, i)
			reserved[i] = x.reserved
		}
	}
	for _, i := range under {
		if err := tickets[i].Wait(); err != nil {
			failed = errors.Join(failed, err)
		}
		reserved[i].end() // where it was not applied
		if !applied[i] {
			s.catalogue.arrive(1, func() {})
		}
	}
	return out, failed
}

// An importing is a checked Copy on its way.
type importing struct {
	planned
	state    rra.State
	strips   []importStrip
	lost     bool
	replaces Ref // only in place of this series; 0: see Overwrite
	reserved *reservation
}

// An importSegment is coded rows of one column: at most runRows, or more of one value, all of one
// slot.
type importStrip struct {
	column int // stream * sources + source
	k      int64
	rows   int
	data   []byte
}

// prepareImport checks a copy and codes its rows.
func (s *Store) prepareImport(c *Copy, overwrite bool, replaces Ref) (*importing, []byte, error) {
	key, path, err := cleanPath(c.Path)
	if err == nil {
		err = checkLabels(c.Labels)
	}
	if err == nil && c.Definition == nil {
		err = invalid("a series needs a definition")
	}
	if err != nil {
		return nil, nil, err
	}
	x := &importing{planned: planned{Spec: Spec{Path: path, Labels: slices.Clone(c.Labels), Overwrite: overwrite}, key: key}, replaces: replaces, lost: c.lost}
	d := ownRows(c.Definition, c.Rows)
	if x.m, x.def, err = s.catalogue.admitDefinition(d); err != nil {
		return nil, nil, err
	}
	x.state = rra.State{W: slices.Clone(c.State.W), Text: slices.Clone(c.State.Text)}
	if err := x.checkState(); err != nil {
		return nil, nil, err
	}
	rec, err := x.record(c.Rows)
	if err != nil {
		return nil, nil, err
	}
	rec, err = x.code(rec, s.catalogue.classOf(x.m).streams, c.Rows)
	if err == nil && len(rec) > wal.MaxRecord {
		err = fmt.Errorf("rows take %d bytes, more than the %d of one record", len(rec), wal.MaxRecord)
	}
	return x, rec, err
}

func (x *importing) checkState() error {
	if err := x.m.Check(&x.state); err != nil {
		return err
	}
	if at := x.m.LastUpdate(x.state.W); at > MaxTime || at < 0 {
		return invalid("last update %d is out of range", at)
	}
	return nil
}

// ownRows returns d, or a copy of it in which archives with one PDP a row whose rows differ from
// those of the longest have rows of their own.
func ownRows(d *rra.Definition, rows [][]float64) *rra.Definition {
	shares := func(i int) bool {
		a := &d.Archives[i]
		return a.CF <= rra.Last && a.PDPs == 1 && !a.Own && i < len(rows)
	}
	longest := -1
	for i := range d.Archives {
		if shares(i) && (longest < 0 || d.Archives[i].Rows > d.Archives[longest].Rows) {
			longest = i
		}
	}
	out := d
	for i := range d.Archives {
		if i == longest || !shares(i) || sameTail(rows[longest], rows[i], int(d.Archives[i].Rows)*len(d.Sources)) {
			continue
		}
		if out == d {
			out = &rra.Definition{Step: d.Step, Sources: d.Sources, Archives: slices.Clone(d.Archives)}
		}
		out.Archives[i].Own = true
	}
	return out
}

// sameTail says whether the last n values of a and b are equal; those that are not there are
// unknown.
func sameTail(a, b []float64, n int) bool {
	at := func(v []float64, i int) float64 {
		if i > len(v) {
			return math.NaN()
		}
		return v[len(v)-i]
	}
	for i := 1; i <= min(n, max(len(a), len(b))); i++ {
		x, y := at(a, i), at(b, i)
		if math.Float64bits(x) != math.Float64bits(y) && !(x != x && y != y) {
			return false
		}
	}
	return true
}

// code appends the rows to the record, and makes segments of them that lie in it.
func (x *importing) code(rec []byte, streams []rowblock.Geometry, archives [][]float64) ([]byte, error) {
	d := x.m.Definition()
	sources := len(d.Sources)
	last := x.m.LastUpdate(x.state.W).Unix()
	c := rowCoder{rec: rec, scratch: make([]byte, 0, rows.MaxBytes(rowblock.MaxMixed))}
	var column []float64
	for id := range streams {
		st := &streams[id]
		archive := -1 // of the stream: the longest
		for i := range d.Archives {
			if i >= len(archives) || x.m.StreamOf(i) != id {
				continue
			}
			if n := len(archives[i]); n%sources != 0 || int64(n/sources) > d.Archives[i].Rows {
				return nil, invalid("%d values in archive %d of %d rows of %d", n, i, d.Archives[i].Rows, sources)
			}
			if archive < 0 || len(archives[i]) > len(archives[archive]) {
				archive = i
			}
		}
		if archive < 0 {
			continue
		}
		n := len(archives[archive]) / sources
		for j := range sources {
			if sources == 1 {
				column = archives[archive]
			} else {
				column = column[:0]
				for i := range n {
					column = append(column, archives[archive][i*sources+j])
				}
			}
			c.column(id*sources+j, st, rowblock.FloorDiv(last, st.Span)-int64(n)+1, column)
		}
	}
	x.strips = c.strips
	for i, from := range c.from { // the record has moved while it grew
		sg := &x.strips[i]
		sg.data = c.rec[from : from+len(sg.data) : from+len(sg.data)]
	}
	return c.rec, nil
}

// A rowCoder appends segments to a record.
type rowCoder struct {
	rec     []byte
	strips  []importStrip
	from    []int // by segment: where its data begins in rec
	scratch []byte
}

// column makes segments of the rows of a column that begin with number k. Unknown rows need none,
// where a segment has no others.
func (c *rowCoder) column(column int, st *rowblock.Geometry, k int64, vals []float64) {
	var hint rows.Hint
	for len(vals) > 0 {
		most := int(min(int64(len(vals)), (rowblock.FloorDiv(k, st.Slot)+1)*st.Slot-k))
		n := min(most, rowblock.MaxMixed)
		if same := leadingRun(vals[:most]); same > rowblock.MaxMixed {
			n = same
		}
		part := vals[:n]
		if slices.ContainsFunc(part, func(v float64) bool { return v == v }) {
			var data []byte
			if n > rowblock.MaxMixed {
				data = rows.AppendRun(c.scratch, part[0], st.PDPs)
			} else {
				data = rows.Append(c.scratch, part, st.PDPs, &hint)
			}
			c.rec = binary.AppendUvarint(c.rec, uint64(column))
			c.rec = binary.AppendVarint(c.rec, k)
			c.rec = binary.AppendUvarint(c.rec, uint64(n))
			c.rec = binary.AppendUvarint(c.rec, uint64(len(data)))
			c.from = append(c.from, len(c.rec))
			c.rec = append(c.rec, data...)
			c.strips = append(c.strips, importStrip{column, k, n, data})
		}
		k, vals = k+int64(n), vals[n:]
	}
}

// leadingRun returns how many rows at the front are of one value.
func leadingRun(rows []float64) int {
	first := rows[0]
	for i, v := range rows {
		if math.Float64bits(v) != math.Float64bits(first) && (v == v || first == first) {
			return i
		}
	}
	return len(rows)
}

// The flags of an import record are part of the format.
const (
	importOverwrite = 1
	importReplace   = 2 // a reference follows: only in place of this series
	importLost      = 4 // the first reading counts as unknown
)

// errReplaced says that another has taken the place of the series to be replaced, or nothing has.
var errReplaced = errors.New("the series has changed")

// record begins the record of x: all but the rows, with room for most of them.
func (x *importing) record(rows [][]float64) ([]byte, error) {
	const perValue = 2 // bytes of ordinary rows
	size := 0
	for i := range rows {
		size += perValue * len(rows[i])
	}
	rec := append(make([]byte, 0, size+len(x.def)+8*len(x.state.W)+256), record.KindImport, 0)
	if x.Overwrite {
		rec[1] |= importOverwrite
	}
	if x.lost {
		rec[1] |= importLost
	}
	if x.replaces != 0 {
		rec[1] |= importReplace
		rec = binary.AppendUvarint(rec, uint64(x.replaces))
	}
	rec = appendLabels(record.AppendText(rec, x.Path), x.Labels)
	rec = record.AppendText(rec, x.def)
	state, err := x.state.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	return record.AppendText(rec, string(state)), nil
}

// replayImport decodes an import record.
func (s *Store) replayImport(r *record.Reader) (*importing, error) {
	x := new(importing)
	flags := r.Byte()
	x.Overwrite, x.lost = flags&importOverwrite != 0, flags&importLost != 0
	if flags&importReplace != 0 {
		x.replaces = Ref(r.Uvarint())
	}
	x.Path = r.Text()
	x.key = nameKey(x.Path)
	x.Labels = readLabels(r)
	x.def = r.Text()
	state := r.Text()
	if r.Err != nil {
		return nil, r.Err
	}
	d, err := decodeDefinition([]byte(x.def))
	if err != nil {
		return nil, err
	}
	if x.m, err = s.catalogue.compile(x.def, d); err != nil {
		return nil, err
	}
	if err := x.state.UnmarshalBinary([]byte(state)); err != nil {
		return nil, err
	}
	if err := x.checkState(); err != nil {
		return nil, err
	}
	columns := len(x.m.Streams()) * len(d.Sources)
	var buf []float64
	for len(r.Rest) > 0 && r.Err == nil {
		column, k, n := r.Uvarint(), r.Varint(), r.Uvarint()
		sg := importStrip{int(column), k, int(n), r.Bytes(r.Uvarint())}
		if r.Err != nil || column >= uint64(columns) || k > int64(MaxTime) || k < -int64(MaxTime) || n < 1 || n > rra.MaxRows {
			return nil, record.ErrParse
		}
		pdps := x.m.Streams()[sg.column/len(d.Sources)].PDPs
		if _, used, ok := rows.RunOf(sg.data, pdps); ok && used == len(sg.data) {
			x.strips = append(x.strips, sg)
			continue
		}
		if sg.rows > rowblock.MaxMixed || len(sg.data) > rows.MaxBytes(sg.rows) {
			return nil, record.ErrParse
		}
		vals, used, err := rows.Decode(buf[:0], sg.data, sg.rows, pdps)
		if err != nil || used != len(sg.data) {
			return nil, record.ErrParse
		}
		buf = vals
		x.strips = append(x.strips, sg)
	}
	return x, r.Err
}

// enqueueImport logs an import, if there is room for one more series.
func (s *Store) enqueueImport(ctx context.Context, t *Ticket, x *importing, rec []byte, out *Created, applied *bool) (bool, error) {
	if err := s.begin(ctx); err != nil {
		return false, err
	}
	if err := s.damagedName(x.key); err != nil {
		*out = Created{Err: fmt.Errorf("import %q: %w", x.Path, err)}
		s.leave()
		return false, nil
	}
	one := []Created{{}}
	if len(s.catalogue.reserve([]planned{x.planned}, one)) == 0 {
		*out = one[0]
		s.leave()
		return false, nil
	}
	var err error
	if x.reserved, err = s.reserveImport(ctx, x, rec); err != nil {
		s.catalogue.arrive(1, func() {})
		s.leave()
		if errors.Is(err, ErrMemory) { // the others may be smaller
			out.Err = fmt.Errorf("import %.200q: %w", x.Path, err)
			return false, nil
		}
		return false, err
	}
	s.appender.ready(t)
	t.op = &op{rec: rec, apply: func(t *Ticket) {
		s.catalogue.arrive(1, func() { s.applyImport(t, x, out) })
		*applied = true
	}}
	if err := s.appender.submitOp(t, s.appender.lock); err != nil {
		x.reserved.end()
		s.catalogue.arrive(1, func() {})
		s.leave()
		return false, err
	}
	return true, nil
}

// applyImport runs in log order.
func (s *Store) applyImport(t *Ticket, x *importing, out *Created) {
	old, err := s.catalogue.lookup(x.key)
	switch {
	case x.replaces != 0 && (errors.Is(err, ErrNotFound) || err == nil && old != x.replaces):
		out.Err = errReplaced
		return
	case err == nil && !x.Overwrite:
		*out = Created{Ref: old, Err: fmt.Errorf("import %q: %w", x.Path, ErrExists)}
		return
	case err != nil && !errors.Is(err, ErrNotFound):
		out.Err = err
		return
	}
	d, ref, g := s.catalogue.enlist(t, &x.planned, old, 0)
	s.failpoint("catalogue-import")
	out.Ref = ref
	index := d.class.index(ref.number())
	t.op.do = append(t.op.do, groupOp{g, func(_ *shard, g *group) {
		g.adopt(index, d, x)
		x.reserved.end()
	}, ref})
}

// adopt begins a series at an index with a state and rows.
func (g *group) adopt(i int, d *definition, x *importing) {
	g.start(i, d, 0)
	st := g.state(i)
	copy(st.W, x.state.W)
	g.setText(i, x.state.Text)
	if x.lost {
		g.flags[i] |= flagLost
	}
	for j := range x.strips {
		g.pendStrip(i, &x.strips[j])
	}
}

// pendStrip adds rows that are coded already to the pending rows of the series at index i. Where
// they cross a slot, as a class laid out by an earlier version may have it, they are coded anew.
func (g *group) pendStrip(i int, sg *importStrip) {
	st := &g.c.streams[sg.column/g.c.sources]
	if n := (rowblock.FloorDiv(sg.k, st.Slot)+1)*st.Slot - sg.k; int64(sg.rows) > n {
		g.pendSplit(i, sg, int(n))
		return
	}
	g.waiting().AddCoded(i, sg.column, uint32(sg.k), sg.rows, sg.data)
}

// pendSplit adds the first n rows of sg and the others apart.
func (g *group) pendSplit(i int, sg *importStrip, n int) {
	st := &g.c.streams[sg.column/g.c.sources]
	front := importStrip{sg.column, sg.k, n, sg.data}
	rest := importStrip{sg.column, sg.k + int64(n), sg.rows - n, sg.data}
	if _, _, run := rows.RunOf(sg.data, st.PDPs); !run {
		vals, _, err := rows.Decode(nil, sg.data, sg.rows, st.PDPs)
		if err != nil {
			return // the rows were coded, or checked, just now
		}
		var hint rows.Hint
		front.data = rows.Append(nil, vals[:n], st.PDPs, &hint)
		rest.data = rows.Append(nil, vals[n:], st.PDPs, &hint)
	}
	g.pendStrip(i, &front)
	g.pendStrip(i, &rest)
}
