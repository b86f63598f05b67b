package query

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A Store is the store that rows are fetched from, such as a [core.Store].
type Store interface {
	Info(ref core.Ref) (core.Info, error)
	Fetch(ctx context.Context, ref core.Ref, archive int, start, end int64) (core.Rows, error)
}

// A Chooser is a Store that chooses the archive itself, such as the client of a daemon. Table
// returns the rows.
type Chooser interface {
	Table(ref core.Ref, r Request) (*Table, error)
}

// A Request says which rows are wanted.
type Request struct {
	CF         rra.CF
	Start, End int64 // seconds since 1970
	// Resolution is the wished seconds a row; less than 1 means the finest archive that reaches
	// back to Start.
	Resolution int64
	Align      bool // move both times back until Start is a multiple of Resolution
}

// A Table is rows with the values of all data sources of a series. Row i ends at Start +
// (i+1)*Step. Unknown values are NaN.
type Table struct {
	Start, End int64     // the rows cover (Start, End], in seconds since 1970
	Step       int64     // seconds a row
	DS         []string  // names of the data sources
	Values     []float64 // row by row
	Archive    int       // index of the archive
}

// Len returns the number of rows.
func (t *Table) Len() int { return int((t.End - t.Start) / t.Step) }

// Row returns row i and the second at which it ends.
func (t *Table) Row(i int) (end int64, values []float64) {
	n := len(t.DS)
	return t.Start + int64(i+1)*t.Step, t.Values[i*n : (i+1)*n : (i+1)*n]
}

// MaxValues bounds the values of a Table: 64 Mi, which take 512 MiB.
const MaxValues = 64 << 20

// A RangeError says that a range has more rows than are returned at once.
type RangeError struct {
	Rows, Most int64
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("the range has %d rows, more than %d", e.Rows, e.Most)
}

// A Plan is the archive that serves a request, and the range of whole rows.
type Plan struct {
	Archive    int      // index of the archive
	Start, End int64    // the rows cover (Start, End], in seconds since 1970
	Step       int64    // seconds a row
	DS         []string // names of the data sources

	store    Store
	ref      core.Ref
	from, to int64  // the archive holds the rows of (from, to]
	whole    *Table // the rows, if the store is a Chooser
}

// NewPlan chooses the archive for r and widens the range to whole rows as rrdtool does. It moves
// the start down to the end of a row. It moves the end up to the end of the row that contains it.
// An end that is the end of a row moves up to the end of the next row.
func NewPlan(s Store, ref core.Ref, r Request) (*Plan, error) {
	if c, ok := s.(Chooser); ok {
		t, err := c.Table(ref, r)
		if err != nil {
			return nil, err
		}
		return &Plan{Archive: t.Archive, Start: t.Start, End: t.End, Step: t.Step, DS: t.DS, whole: t}, nil
	}
	x, err := s.Info(ref)
	if err != nil {
		return nil, err
	}
	return PlanOf(s, ref, x.Definition, x.LastUpdate(), r)
}

// PlanOf is NewPlan of a series whose definition and last update the caller knows, for a store that
// does not choose.
func PlanOf(s Store, ref core.Ref, d *rra.Definition, last rra.Time, r Request) (*Plan, error) {
	r.Resolution = max(r.Resolution, 1)
	if r.Align {
		d := r.Start - Floor(r.Start, r.Resolution)
		r.Start, r.End = r.Start-d, r.End-d
	}
	archive, err := d.Choose(last.Unix(), r.CF, r.Start, r.Resolution)
	if err != nil {
		return nil, err
	}
	return planOf(s, ref, d, archive, last.Unix(), r), nil
}

// Finest returns the index of the archive with the finest plain rows: of a function if there is
// one, and else of any. It is -1 if no archive has plain rows.
func Finest(d *rra.Definition, of rra.CF) int {
	best := -1
	for i := range d.Archives {
		a := &d.Archives[i]
		switch {
		case a.CF > rra.Last:
		case best < 0,
			a.CF == of && d.Archives[best].CF != of,
			(a.CF == of) == (d.Archives[best].CF == of) && a.PDPs < d.Archives[best].PDPs:
			best = i
		}
	}
	return best
}

// planOf returns the plan for r that reads an archive of a series, which was updated last at the
// second last.
func planOf(s Store, ref core.Ref, d *rra.Definition, archive int, last int64, r Request) *Plan {
	p := &Plan{store: s, ref: ref, Archive: archive, Step: d.Step * d.Archives[archive].PDPs}
	p.from, p.to = d.Window(archive, last)
	p.Start, p.End = wholeRows(r, p.Step)
	p.DS = make([]string, 0, len(d.Sources))
	for i := range d.Sources {
		p.DS = append(p.DS, d.Sources[i].Name)
	}
	return p
}

// Rows returns the number of rows.
func (p *Plan) Rows() int64 { return (p.End - p.Start) / p.Step }

// Held returns the part (from, to] of the range whose rows the archive holds, in seconds since
// 1970. from is not before to if the archive holds none of them. All other rows are unknown.
func (p *Plan) Held() (from, to int64) { return max(p.from, p.Start), min(p.to, p.End) }

// The limits of a piece. A piece has at least one row.
const (
	pieceRows   = 8192
	pieceValues = 128 << 10
)

// Pieces yields the rows in order, in tables of at most some thousand rows. A table is valid until
// the next one is yielded.
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

// fill copies the rows that the archive holds into t.
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

// ErrNoArchive says that no archive consolidates as asked. The text is rrdtool's.
var ErrNoArchive = rra.ErrNoArchive

// wholeRows returns the range of r, widened to whole rows.
func wholeRows(r Request, step int64) (start, end int64) {
	return Floor(r.Start, step), Floor(r.End, step) + step
}

// Floor rounds t down to a multiple of step.
func Floor(t, step int64) int64 {
	r := t % step
	if r < 0 {
		r += step
	}
	return t - r
}

// Ceil rounds t up to a multiple of step.
func Ceil(t, step int64) int64 { return -Floor(-t, step) }

// A ManyStore is a Store that reads many series at once, such as a [core.Store].
type ManyStore interface {
	Store
	core.Fetcher
}

// ReadMany reads all rows of many plans. It reads storage that series share only once for plans
// with the same range. It calls fn once for each plan, in any order, with the values in the order
// of a Table; they are valid until fn returns. The plans must be small, because all rows of a plan
// are in memory at once. Errors of single plans go to fn. ReadMany itself returns ctx's.
func ReadMany(ctx context.Context, s ManyStore, plans []*Plan, fn func(i int, values []float64, err error)) error {
	spans := make([]core.Span, len(plans))
	for i, p := range plans {
		spans[i] = core.Span{Ref: p.ref, Archive: p.Archive, Start: p.Start, End: p.End}
	}
	// fn gets the errors
	_ = s.FetchMany(ctx, spans, func(i int, rows *core.Rows, err error) {
		p := plans[i]
		switch {
		case err != nil:
			fn(i, nil, err)
		case rows.Step != p.Step || len(rows.DS) != len(p.DS) || rows.Start != p.Start || rows.End != p.End:
			fn(i, nil, fmt.Errorf("archive %d changed while it was read", p.Archive))
		default:
			fn(i, rows.Values, nil)
		}
	})
	return ctx.Err()
}

// fillValues is how many values Fill reads of several levels at once.
const fillValues = 1 << 20

// ReadBases reads the rows of the bases, and the rows of finer archives behind them. For each join
// admit is called before, with the number of values of finer archives. Its error is the join's.
func ReadBases(ctx context.Context, s core.Fetcher, all []*Join, admit func(values int64) error) error {
	r := reader{admit: admit, room: 3 * len(all)}
	r.plan(all, (*Join).begin)
	return r.fetch(ctx, s)
}

// Fill reads what all need for their holes: of all levels at once, if these are few rows.
func Fill(ctx context.Context, s core.Fetcher, all []*Join, admit func(values int64) error) error {
	r := reader{admit: admit, room: len(all) + 7, most: fillValues / int64(max(1, len(all)))}
	for {
		if r.plan(all, (*Join).next); len(r.spans) == 0 {
			return nil
		}
		if err := r.fetch(ctx, s); err != nil {
			return err
		}
	}
}

// A reader is one fetch for several joins.
type reader struct {
	admit  func(values int64) error
	most   int64 // values of a join, if it reads several levels
	room   int   // for spans, to begin with
	spans  []core.Span
	of     []spanOf
	values int64     // of the join at hand, without the base's
	kept   []float64 // values that joins keep
	before *Join     // one that has levels
	unread []span    // of all joins
	spare  []span    // room for holes, to begin with few
	few    [4]span
	holes  [][]span // by place in want of a join
	copies []span   // of holes
}

// A spanOf says what a span is for.
type spanOf struct {
	join  *Join
	level int // -1: the base
}

// plan plans what each join reads.
func (r *reader) plan(all []*Join, plan func(*Join, *reader)) {
	r.spans, r.of, r.spare = r.spans[:0], r.of[:0], r.few[:0]
	for _, x := range all {
		before := len(r.spans)
		if r.values = 0; x.Err == nil {
			plan(x, r)
		}
		if len(r.spans) > before {
			if x.Err = r.admit(r.values); x.Err != nil {
				r.cut(before)
			}
		}
	}
}

// keep returns a copy of values, which shares memory with others: there are many small ones.
func (r *reader) keep(values []float64) []float64 {
	if cap(r.kept)-len(r.kept) < len(values) {
		r.kept = make([]float64, 0, max(len(values), 32, min(2*cap(r.kept), 1024)))
	}
	at := len(r.kept)
	r.kept = append(r.kept, values...)
	return r.kept[at:len(r.kept):len(r.kept)]
}

func (r *reader) cut(spans int) { r.spans, r.of = r.spans[:spans], r.of[:spans] }

// read adds the rows (from, to] of a level, in pieces.
func (r *reader) read(x *Join, level int, from, to int64) {
	archive := x.base
	if level >= 0 {
		archive = x.levels[level].archive
		r.values += (to - from) / x.length(archive) * int64(len(x.def.Sources))
	}
	if from < to && r.spans == nil {
		r.spans, r.of = make([]core.Span, 0, r.room), make([]spanOf, 0, r.room)
	}
	for most := readRows * x.length(archive); from < to; from += most {
		r.spans = append(r.spans, core.Span{Ref: x.ref, Archive: archive, Start: from, End: min(to, from+most), Known: true})
		r.of = append(r.of, spanOf{x, level})
	}
}

func (r *reader) fetch(ctx context.Context, s core.Fetcher) error {
	return fetch(ctx, s, r.spans, func(i int, rows *core.Rows, err error) error {
		x, level, archive := r.of[i].join, r.of[i].level, r.spans[i].Archive
		switch {
		case x.Err != nil:
		case err != nil:
			x.Err = err
		case rows.Step != x.length(archive) || len(rows.DS) != len(x.def.Sources):
			x.Err = fmt.Errorf("archive %d changed while it was read", archive)
		case level < 0:
			x.take(rows)
		default:
			x.taken(r, level, rows)
		}
		return nil
	})
}
