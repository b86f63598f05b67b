package core

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rows"
)

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
