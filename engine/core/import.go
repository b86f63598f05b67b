package core

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rows"
)

// A pathCheck is newPath or CleanPath.
type pathCheck = func(path string) (key, clean string, err error)

// A planner plans new series. Its memory is used again for each.
type planner struct {
	verb    string // of what makes copies; empty: import
	defs    admitting
	m       *rra.Machine
	streams []rowblock.Geometry // of m
	coder   rowCoder
}

// plan checks a spec, compiles its definition, and codes the rows of its copy. It keeps nothing of
// the caller's. check checks the path.
func (x *planner) plan(sp *Spec, check pathCheck) (p planned, err error) {
	p.Overwrite = sp.Overwrite
	labels, d := checkNewLabels, sp.Definition
	if sp.Copy != nil {
		labels, p.verb, p.copied = checkLabels, cmp.Or(x.verb, "import"), new(copied)
	}
	if p.key, p.Path, err = check(sp.Path); err != nil { // it names the path, if that is printable
		return p, fmt.Errorf("%s: %w", cmp.Or(p.verb, "create"), err)
	}
	if err = cmp.Or(labels(sp.Labels), sp.checkRest()); err != nil {
		return p, p.failed(err)
	}
	if sp.Copy != nil {
		d = ownRows(d, sp.Copy.Rows)
	}
	of := x.defs.admit(d)
	if of.err != nil {
		return p, p.failed(of.err)
	}
	p.Labels, p.m, p.def = slices.Clone(sp.Labels), of.m, of.code
	if sp.Copy == nil {
		p.Start, p.SmoothHash = sp.Start, sp.SmoothHash
		return p, nil
	}
	if x.m != of.m {
		x.m, x.streams = of.m, rowblock.Layout(of.m.Streams(), d.Step)
	}
	p.copied.state = sp.Copy.State.Clone()
	if err = p.copied.check(p.m); err == nil {
		err = x.code(&p, sp.Copy.Rows)
	}
	if err != nil {
		err = p.failed(err)
	}
	return p, err
}

// code codes the rows of p.
func (x *planner) code(p *planned, archives [][]float64) error {
	d := p.m.Definition()
	sources := len(d.Sources)
	last := p.m.LastUpdate(p.copied.state.W).Unix()
	c := &x.coder
	from := len(c.dst)
	c.strips = 0
	for id := range x.streams {
		st := &x.streams[id]
		archive := -1 // of the stream: the longest
		for i := range d.Archives {
			if i >= len(archives) || p.m.StreamOf(i) != id {
				continue
			}
			if n := len(archives[i]); n%sources != 0 || int64(n/sources) > d.Archives[i].Rows {
				return invalid("%d values in archive %d of %d rows of %d", n, i, d.Archives[i].Rows, sources)
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
			column := archives[archive]
			if sources > 1 {
				column = make([]float64, n)
				for i := range column {
					column[i] = archives[archive][i*sources+j]
				}
			}
			c.column(id*sources+j, st, rowblock.FloorDiv(last, st.Span)-int64(n)+1, column)
		}
	}
	p.copied.rows, p.copied.strips = c.dst[from:len(c.dst):len(c.dst)], c.strips
	return nil
}

// A rowCoder appends strips to dst.
type rowCoder struct {
	dst     []byte
	strips  int
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
			c.scratch = data[:0]
			c.dst = binary.AppendUvarint(c.dst, uint64(column))
			c.dst = binary.AppendVarint(c.dst, k)
			c.dst = binary.AppendUvarint(c.dst, uint64(n))
			c.dst = append(binary.AppendUvarint(c.dst, uint64(len(data))), data...)
			c.strips++
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

// errReplaced says that the series to be replaced was dropped, or replaced by another.
var errReplaced = errors.New("the series has changed")

// adopt gives the series at an index, which has begun, a state and rows.
func (g *group) adopt(i int, x *copied) {
	g.storeWords(i, x.state.W)
	g.setText(i, x.state.Text)
	for r := (record.Reader{Rest: x.rows}); len(r.Rest) > 0; {
		sg, err := readStrip(&r)
		if err != nil {
			return // the rows were coded, or checked, just now
		}
		g.waiting().AddCoded(i, sg.column, uint32(sg.k), sg.rows, sg.data)
	}
}
