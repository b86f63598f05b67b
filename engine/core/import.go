package core

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rows"
)

// Import makes a series of every copy, with its state and all its rows. Each series is made whole
// or not at all. With overwrite a copy replaces the series of the same path. out[i] is the outcome
// of copies[i], as CreateBatch gives it. Import keeps no reference to copies. Archives with one PDP
// a row share their rows. If their rows differ, which they never do in files that rrdtool filled,
// they get rows of their own (rra.Archive.Own).
func (s *Store) Import(ctx context.Context, copies []Copy, overwrite bool) ([]Created, error) {
	return s.importAll(ctx, copies, overwrite, newPath)
}

// importRecord is how many bytes of copies, about, come into one log record.
const importRecord = 1 << 20

// importAll is Import with what checks the paths.
func (s *Store) importAll(ctx context.Context, copies []Copy, overwrite bool, check func(path string) (key, clean string, err error)) ([]Created, error) {
	m := importer{s: s, out: make([]Created, len(copies)), copier: copier{defs: admitting{cat: &s.catalogue}}}
	var plan []planned
	var err error
	for size, i := 0, 0; i < len(copies) && err == nil; i++ {
		p, wrong := m.plan(&copies[i], check)
		p.at, p.Overwrite = i, overwrite
		if wrong != nil {
			m.out[i].Err = p.failed(wrong)
			continue
		}
		if size += p.bytes(); size > importRecord && len(plan) > 0 {
			err = m.log(ctx, plan)
			plan, size = nil, p.bytes()
		}
		if plan == nil {
			plan = make([]planned, 0, min(len(copies)-i, importRecord/p.bytes()+1))
		}
		plan = append(plan, p)
	}
	if err == nil && len(plan) > 0 {
		err = m.log(ctx, plan)
	}
	err = errors.Join(err, m.wait())
	if !m.logged && err == nil {
		err = s.confirm(ctx)
	}
	return m.out, err
}

// An importer logs planned copies. While the disk writes one record, it makes the next.
type importer struct {
	copier
	s      *Store
	out    []Created
	under  *creation // on its way; nil: none
	logged bool
}

// log logs planned copies, and waits for those before.
func (m *importer) log(ctx context.Context, plan []planned) error {
	m.coder.dst = nil
	x, err := m.s.create(WithNumber(ctx, NumberOf(ctx).Plus(plan[0].at)), plan, m.out, m.s.appender.submitOp)
	switch {
	case x == nil:
		return err
	case errors.Is(err, ErrMemory) && m.under != nil: // it holds some
		return errors.Join(m.wait(), m.log(ctx, x.plan))
	case !errors.Is(err, ErrMemory) && !errors.Is(err, ErrInvalid):
		if err == nil {
			m.logged = true
			err, m.under = m.wait(), x
		}
		return err
	case len(x.plan) == 1:
		m.out[x.plan[0].at].Err = err
		return nil
	}
	for i := range x.plan { // some may be small enough
		if err := m.log(ctx, x.plan[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// wait waits for the copies that are on their way.
func (m *importer) wait() error {
	x := m.under
	if m.under = nil; x == nil {
		return nil
	}
	return x.wait()
}

// A copier plans copies. Its memory is used again for each.
type copier struct {
	defs    admitting
	m       *rra.Machine
	streams []rowblock.Geometry // of m
	coder   rowCoder
}

// plan checks a copy and codes its rows. It keeps nothing of c. check checks the path.
func (x *copier) plan(c *Copy, check func(path string) (key, clean string, err error)) (planned, error) {
	p := planned{verb: "import", copied: new(copied)}
	var err error
	if p.key, p.Path, err = check(c.Path); err != nil {
		p.Path = c.Path
		return p, err
	}
	err = checkLabels(c.Labels)
	if err == nil && c.Definition == nil {
		err = invalid("a series needs a definition")
	}
	if err != nil {
		return p, err
	}
	d := x.defs.admit(ownRows(c.Definition, c.Rows))
	if d.err != nil {
		return p, d.err
	}
	if x.m != d.m {
		x.m, x.streams = d.m, x.defs.cat.classOf(d.m).streams
	}
	p.Labels, p.m, p.def = slices.Clone(c.Labels), d.m, d.code
	p.copied.state = rra.State{W: slices.Clone(c.State.W), Text: slices.Clone(c.State.Text)}
	if err := p.copied.check(p.m); err != nil {
		return p, err
	}
	return p, x.code(&p, c.Rows)
}

// code codes the rows of p.
func (x *copier) code(p *planned, archives [][]float64) error {
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
		g.pendStrip(i, &sg)
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
