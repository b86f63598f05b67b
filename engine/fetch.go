package engine

import (
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/rondo-db/rondo/rra"
)

// A CF is a consolidation function: how readings become a row.
type CF = rra.CF

// The consolidation functions of ordinary archives.
const (
	Average = rra.Average
	Min     = rra.Min
	Max     = rra.Max
	Last    = rra.Last
)

// A Query says which rows are wanted: those that end after From, up to the one that To falls into.
//
// Both times count: the zero time is no default but long ago. Use time.Now() as To for everything
// up to now.
type Query struct {
	CF       CF // default Average
	From, To time.Time
	// Resolution is the length of a row that is wanted, about; 0: the finest rows that reach back
	// to From.
	Resolution time.Duration
}

// Rows are consecutive rows of one archive. Row i ends at Start + (i+1)*Step.
type Rows struct {
	Start  time.Time // where the first row begins
	Step   time.Duration
	DS     []string  // the data sources
	Values []float64 // row by row, a value of each data source; NaN is unknown
}

// Len returns the number of rows.
func (r *Rows) Len() int {
	if len(r.DS) == 0 {
		return 0
	}
	return len(r.Values) / len(r.DS)
}

// Row returns the time at which row i ends, and its values.
func (r *Rows) Row(i int) (end time.Time, values []float64) {
	n := len(r.DS)
	return r.Start.Add(time.Duration(i+1) * r.Step), r.Values[i*n : (i+1)*n : (i+1)*n]
}

// All yields the time at which each row ends, and its values.
func (r *Rows) All() iter.Seq2[time.Time, []float64] {
	return func(yield func(time.Time, []float64) bool) {
		for i := range r.Len() {
			if !yield(r.Row(i)) {
				return
			}
		}
	}
}

// Fetch returns rows of a series, of the archive that rrdtool would take: of those that reach back
// to From the one whose rows are nearest to the resolution; if none reaches back, the one that
// reaches back furthest. Rows that the archive does not hold are unknown. The error wraps
// ErrNoArchive if no archive has the consolidation function.
func (s *Store) Fetch(ctx context.Context, ref Ref, q Query) (Rows, error) {
	from, to := q.From.Unix(), q.To.Unix()
	if to < from {
		return Rows{}, fmt.Errorf("fetch: the end %v is before the start %v: %w", q.To, q.From, ErrInvalid)
	}
	x, err := s.core.Series(ref)
	if err != nil {
		return Rows{}, err
	}
	last, err := s.core.Last(ref)
	if err != nil {
		return Rows{}, err
	}
	archive, err := x.Definition.Choose(last.Unix(), q.CF, from, max(1, int64(math.Round(q.Resolution.Seconds()))))
	if err != nil {
		return Rows{}, fmt.Errorf("fetch %q: %w", x.Path, err)
	}
	rows, err := s.core.Fetch(ctx, ref, archive, from, to)
	if err != nil {
		return Rows{}, err
	}
	return Rows{Start: time.Unix(rows.Start, 0), Step: time.Duration(rows.Step) * time.Second, DS: rows.DS, Values: rows.Values}, nil
}
