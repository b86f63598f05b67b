package query

import (
	"context"
	"fmt"

	"github.com/rondo-db/rondo/engine/core"
)

// A ManyStore is a Store that reads many series at once, such as a [core.Store].
type ManyStore interface {
	Store
	FetchMany(ctx context.Context, refs []core.Ref, archive int, start, end int64, fn func(i int, r *core.Rows, err error)) error
}

// ReadMany reads all rows of many plans. It reads storage that series share only once for plans
// with the same range. It calls fn once for each plan, in any order, with the values in the order
// of a Table; they are valid until fn returns. The plans must be small, because all rows of a plan
// are in memory at once. Errors of single plans go to fn. ReadMany itself returns ctx's.
func ReadMany(ctx context.Context, s ManyStore, plans []*Plan, fn func(i int, values []float64, err error)) error {
	type span struct {
		archive    int
		start, end int64
	}
	spans := make(map[span][]int)
	for i, p := range plans {
		k := span{p.Archive, p.Start, p.End}
		spans[k] = append(spans[k], i)
	}
	var refs []core.Ref
	for k, at := range spans {
		refs = refs[:0]
		for _, i := range at {
			refs = append(refs, plans[i].ref)
		}
		// fn gets the errors
		_ = s.FetchMany(ctx, refs, k.archive, k.start, k.end, func(j int, rows *core.Rows, err error) {
			p := plans[at[j]]
			switch {
			case err != nil:
				fn(at[j], nil, err)
			case rows.Step != p.Step || len(rows.DS) != len(p.DS) || rows.Start != p.Start || rows.End != p.End:
				fn(at[j], nil, fmt.Errorf("archive %d changed while it was read", p.Archive))
			default:
				fn(at[j], rows.Values, nil)
			}
		})
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}
