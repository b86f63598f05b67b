package core

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rows"
	"github.com/rondo-db/rondo/wal"
)

// Import makes a series of every copy, with its state and all its rows. Each series is made whole
// or not at all. With overwrite a copy replaces the series of the same path. out[i] is the outcome
// of copies[i], as CreateBatch gives it. Import keeps no reference to copies. Archives with one PDP
// a row share their rows. If their rows differ, which they never do in files that rrdtool filled,
// they get rows of their own (rra.Archive.Own).
func (s *Store) Import(ctx context.Context, copies []Copy, overwrite bool) ([]Created, error) {
	return s.importAll(ctx, copies, overwrite, newPath)
}

// importAll is Import with what checks the paths.
func (s *Store) importAll(ctx context.Context, copies []Copy, overwrite bool, check func(path string) (key, clean string, err error)) ([]Created, error) {
	out := make([]Created, len(copies))
	tickets := make([]Ticket, len(copies))
	applied := make([]bool, len(copies))
	logged := make([]*importing, len(copies))
	var under []int // indices of copies that are logged
	var failed error
	for i := range copies {
		var x *importing
		var rec []byte
		_, _, err := check(copies[i].Path)
		if err == nil {
			x, rec, err = s.prepareImport(&copies[i], overwrite, 0)
		}
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
			logged[i] = x
		}
	}
	for _, i := range under {
		if err := tickets[i].Wait(); err != nil {
			failed = errors.Join(failed, err)
		}
		logged[i].reserved.end() // where it was not applied
		if !applied[i] {
			s.catalogue.arrive(logged[i].plan, func() {})
		}
	}
	if len(under) == 0 && failed == nil {
		failed = s.confirm(ctx)
	}
	return out, failed
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
	x := &importing{planned: planned{Spec: Spec{Path: path, Labels: slices.Clone(c.Labels), Overwrite: overwrite}, key: key}, replaces: replaces}
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

// enqueueImport logs an import, if there is room for one more series.
func (s *Store) enqueueImport(ctx context.Context, t *Ticket, x *importing, rec []byte, out *Created, applied *bool) (bool, error) {
	if err := s.begin(ctx); err != nil {
		return false, err
	}
	defer s.leave()
	if err := s.damagedName(x.key); err != nil {
		*out = Created{Err: fmt.Errorf("import %q: %w", x.Path, err)}
		return false, nil
	}
	one := []Created{{}}
	if x.plan = s.catalogue.reserve([]planned{x.planned}, one); len(x.plan) == 0 {
		*out = one[0]
		return false, nil
	}
	var err error
	if x.reserved, err = s.reserveImport(ctx, x, rec); err != nil {
		s.catalogue.arrive(x.plan, func() {})
		if errors.Is(err, ErrMemory) { // the others may be smaller
			out.Err = fmt.Errorf("import %.200q: %w", x.Path, err)
			return false, nil
		}
		return false, err
	}
	s.appender.ready(t)
	t.op = &op{rec: rec, apply: func(t *Ticket) {
		s.catalogue.arrive(x.plan, func() { s.applyImport(t, x, out) })
		*applied = true
	}}
	if err := s.appender.submitOp(t, s.appender.lock); err != nil {
		x.reserved.end()
		s.catalogue.arrive(x.plan, func() {})
		return false, err
	}
	return true, nil
}

// applyImport makes the series. It runs in log order.
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
	d, ref, g := s.catalogue.enlist(t, &x.planned, old, new(seriesRecord))
	s.failpoint("catalogue-import")
	out.Ref = ref
	index := d.class.index(ref.number())
	t.op.do = append(t.op.do, groupOp{g, func(_ *shard, g *group) {
		g.adopt(index, d, x)
		x.reserved.end()
	}, 1})
}

// code appends the rows to the record, and makes strips of them, whose data lies in it.
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

// A rowCoder appends strips to a record.
type rowCoder struct {
	rec     []byte
	strips  []importStrip
	from    []int // by strip: where its data begins in rec
	scratch []byte
}

// column makes strips of the rows of a column that begin with number k. It makes none of a strip of
// unknown rows only.
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

// leadingRun returns how many rows at the front have one value.
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
)

// errReplaced says that the series to be replaced was dropped, or replaced by another.
var errReplaced = errors.New("the series has changed")

// record codes all of x but its rows, with room for most of them.
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
	if flags > importOverwrite|importReplace {
		return nil, unknownFlags(flags)
	}
	x.Overwrite = flags&importOverwrite != 0
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
	var err error
	if x.m, err = s.catalogue.compile(x.def); err != nil {
		return nil, err
	}
	if err := x.state.UnmarshalBinary([]byte(state)); err != nil {
		return nil, err
	}
	if err := x.checkState(); err != nil {
		return nil, err
	}
	sources := len(x.m.Definition().Sources)
	columns := len(x.m.Streams()) * sources
	var buf []float64
	for len(r.Rest) > 0 && r.Err == nil {
		column, k, n := r.Uvarint(), r.Varint(), r.Uvarint()
		sg := importStrip{int(column), k, int(n), r.Bytes(r.Uvarint())}
		if r.Err != nil || column >= uint64(columns) || k > int64(MaxTime) || k < -int64(MaxTime) || n < 1 || n > rra.MaxRows {
			return nil, record.ErrParse
		}
		pdps := x.m.Streams()[sg.column/sources].PDPs
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

// adopt begins a series at an index with a state and rows.
func (g *group) adopt(i int, d *definition, x *importing) {
	g.start(i, d, 0, nil)
	g.storeWords(i, x.state.W)
	g.setText(i, x.state.Text)
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
