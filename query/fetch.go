package query

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A Store is what fetching asks of a store. An *core.Store is one.
type Store interface {
	Series(ref core.Ref) (core.Series, error)
	Last(ref core.Ref) (rra.Time, error)
	Fetch(ctx context.Context, ref core.Ref, archive int, start, end int64) (core.Rows, error)
}

// A Chooser is a Store that cannot be told which archive to read: it chooses, and gives the rows.
type Chooser interface {
	Table(ref core.Ref, r Request) (*Table, error)
}

// A Request says which rows are wanted.
type Request struct {
	CF         rra.CF
	Start, End int64 // seconds since 1970
	Resolution int64 // seconds a row, about; 0: 1, the finest archive that reaches back to Start
	Align      bool  // move both back until Start is a multiple of Resolution
}

// A Table is rows of all data sources of a series. Row i ends at
// Start + (i+1)*Step; unknown is NaN.
type Table struct {
	Start, End int64 // rows cover (Start, End]
	Step       int64
	DS         []string
	Values     []float64 // row by row
	Archive    int       // index of the archive they are from
}

// Len returns the number of rows.
func (t *Table) Len() int { return int((t.End - t.Start) / t.Step) }

// Row returns row i and the second at which it ends.
func (t *Table) Row(i int) (end int64, values []float64) {
	n := len(t.DS)
	return t.Start + int64(i+1)*t.Step, t.Values[i*n : (i+1)*n : (i+1)*n]
}

// MaxValues bounds a Table: 64 Mi values, 512 MiB.
const MaxValues = 64 << 20

// A RangeError says that a range has more rows than a Table may have.
type RangeError struct {
	Rows, Most int64
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("the range has %d rows, more than %d", e.Rows, e.Most)
}

// Fetch returns the rows that rrdtool would fetch for r.
func Fetch(ctx context.Context, s Store, ref core.Ref, r Request) (*Table, error) {
	p, err := NewPlan(s, ref, r)
	if err != nil {
		return nil, err
	}
	most := int64(MaxValues / max(1, len(p.DS)))
	if p.Rows() > most {
		return nil, &RangeError{p.Rows(), most}
	}
	t := &Table{Start: p.Start, End: p.End, Step: p.Step, DS: p.DS, Archive: p.Archive}
	t.Values = make([]float64, 0, p.Rows()*int64(len(p.DS)))
	for piece, err := range p.Pieces(ctx) {
		if err != nil {
			return nil, err
		}
		t.Values = append(t.Values, piece.Values...)
	}
	return t, nil
}

// A Plan is the archive that serves a request, and the whole rows the request
// widens to.
type Plan struct {
	Archive    int
	Start, End int64 // rows cover (Start, End]
	Step       int64
	DS         []string

	store    Store
	ref      core.Ref
	from, to int64 // the archive holds rows of (from, to]
	whole    *Table
}

// NewPlan chooses the archive for r and moves the ends of the range as rrdtool
// does: the start down to a whole row, the end to the end of the row that it
// falls into, or of the next if it is the end of one.
func NewPlan(s Store, ref core.Ref, r Request) (*Plan, error) {
	if c, ok := s.(Chooser); ok {
		t, err := c.Table(ref, r)
		if err != nil {
			return nil, err
		}
		return &Plan{Archive: t.Archive, Start: t.Start, End: t.End, Step: t.Step, DS: t.DS, whole: t}, nil
	}
	series, err := s.Series(ref)
	if err != nil {
		return nil, err
	}
	last, err := s.Last(ref)
	if err != nil {
		return nil, err
	}
	d := series.Definition
	if r.Resolution < 1 {
		r.Resolution = 1
	}
	if r.Align {
		d := r.Start - floor(r.Start, r.Resolution)
		r.Start, r.End = r.Start-d, r.End-d
	}
	p := &Plan{store: s, ref: ref}
	if p.Archive, err = Choose(d, last.Unix(), r.CF, r.Start, r.Resolution); err != nil {
		return nil, err
	}
	p.from, p.to = d.Window(p.Archive, last.Unix())
	p.Step = d.Step * d.Archives[p.Archive].PDPs
	p.Start = floor(r.Start, p.Step)
	p.End = floor(r.End, p.Step) + p.Step
	for i := range d.Sources {
		p.DS = append(p.DS, d.Sources[i].Name)
	}
	return p, nil
}

// Rows returns the number of rows.
func (p *Plan) Rows() int64 { return (p.End - p.Start) / p.Step }

// A piece has so many rows, or fewer: as many values, or a row.
const (
	pieceRows   = 8192
	pieceValues = 128 << 10
)

// Pieces yields the rows in order, as tables of some thousand rows. A table is
// valid until the next one.
func (p *Plan) Pieces(ctx context.Context) iter.Seq2[*Table, error] {
	return func(yield func(*Table, error) bool) {
		if p.whole != nil {
			yield(p.whole, ctx.Err())
			return
		}
		n := len(p.DS)
		t := &Table{Step: p.Step, DS: p.DS, Archive: p.Archive}
		most := int64(max(1, min(pieceRows, pieceValues/max(1, n))))
		for at := p.Start; at < p.End; at = t.End {
			t.Start, t.End = at, min(p.End, at+most*p.Step)
			rows := t.Len()
			if cap(t.Values) < rows*n {
				t.Values = make([]float64, rows*n)
			}
			t.Values = t.Values[:rows*n]
			for i := range t.Values {
				t.Values[i] = math.NaN()
			}
			if err := p.fill(ctx, t); err != nil {
				yield(nil, err)
				return
			}
			if !yield(t, nil) {
				return
			}
		}
	}
}

// fill puts the rows that the archive holds into t.
func (p *Plan) fill(ctx context.Context, t *Table) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	from, to := max(t.Start, p.from), min(t.End, p.to)
	if from >= to {
		return nil
	}
	rows, err := p.store.Fetch(ctx, p.ref, p.Archive, from, to)
	if err != nil {
		return err
	}
	n := int64(len(p.DS))
	if rows.Step != p.Step || len(rows.DS) != len(p.DS) {
		return fmt.Errorf("archive %d changed while it was read", p.Archive)
	}
	for end := rows.Start + rows.Step; end <= min(rows.End, to); end += rows.Step {
		if end <= from {
			continue
		}
		src := (end - rows.Start - rows.Step) / rows.Step * n
		dst := (end - t.Start - t.Step) / t.Step * n
		copy(t.Values[dst:dst+n], rows.Values[src:src+n])
	}
	return nil
}
