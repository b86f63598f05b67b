package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/engine/core"
)

// An Open is what a series knows behind its last step, in the seconds (From, Last], where Last is
// its last update: see [core.OpenRow]. The zero Open is of no series.
type Open struct {
	From, Last int64
	First      int64     // nothing is known up to this second
	Values     []float64 // by data source; nil: nothing is known
	There      bool      // the series exists
	Err        error     // why it is not known
}

// Opens returns the open rows of series, in the order of refs. All that is read later of a series
// is cut at its last update, so that everything is of that moment.
func Opens(ctx context.Context, s core.Fetcher, refs []core.Ref) ([]Open, error) {
	out := make([]Open, len(refs))
	values := make([]float64, 0, len(refs))
	err := fetch(ctx, s, core.Spans(refs, core.OpenRow, 0, 0), func(i int, r *core.Rows, err error) error {
		switch {
		case errors.Is(err, core.ErrNotFound):
		case err != nil:
			out[i].Err = err
		default:
			at := len(values)
			values = append(values, r.Values...)
			out[i] = Open{From: r.Start, Last: r.End, First: r.First, Values: values[at:len(values):len(values)], There: true}
		}
		return nil
	})
	return out, err
}

// fetch calls fn with each span, until it returns an error. It returns that, or an error if the
// store has left spans out.
func fetch(ctx context.Context, s core.Fetcher, spans []core.Span, fn func(i int, r *core.Rows, err error) error) error {
	if len(spans) == 0 {
		return ctx.Err()
	}
	given, failed := 0, error(nil)
	err := s.FetchMany(ctx, spans, func(i int, r *core.Rows, err error) {
		if given++; failed == nil {
			failed = fn(i, r, err)
		}
	})
	switch {
	case failed != nil || given == len(spans):
		return failed
	case err != nil:
		return err
	}
	return fmt.Errorf("rows of %d series, not of %d", given, len(spans))
}
