package query

import (
	"context"
	"fmt"

	"github.com/rondo-db/rondo/engine/core"
)

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
