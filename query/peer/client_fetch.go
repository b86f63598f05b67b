package peer

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/peer/peerv1"
)

// FetchMany is core.Engine's.
func (c *Client) FetchMany(ctx context.Context, refs []core.Ref, archive int, start, end int64, fn func(i int, r *core.Rows, err error)) error {
	var first error
	for from := 0; from < len(refs) || from == 0; from += maxRefs {
		part := refs[from:min(from+maxRefs, len(refs))]
		r := rowReader{fn: func(i int, rows *core.Rows, err error) { fn(from+i, rows, err) }, reuse: len(refs) > 1}
		req := &peerv1.FetchRequest{Refs: sentRefs(part), Archive: int64(archive), Start: start, End: end}
		if err := c.fetch(ctx, req, &r); err != nil && first == nil {
			first = err
		}
		if ctx.Err() != nil || errors.Is(first, core.ErrUnavailable) {
			break
		}
	}
	return first
}

func (c *Client) fetch(ctx context.Context, req *peerv1.FetchRequest, r *rowReader) error {
	req.Target = c.target(ctx)
	own, cancel := context.WithCancel(ctx)
	in, err := c.node.rpc.Fetch(own, connect.NewRequest(req))
	return drain(ctx, c, cancel, in, err, func(m *peerv1.FetchResponse) (bool, error) {
		for _, x := range m.GetRows() {
			if err := r.add(x); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// A rowReader puts the pieces of rows together and calls fn with each series.
type rowReader struct {
	fn    func(i int, r *core.Rows, err error)
	reuse bool // fn keeps no rows
	rows  core.Rows
	ds    []string
	under bool // pieces of rows are missing
}

func (r *rowReader) add(x *peerv1.Rows) error {
	if x.GetFailure() != nil {
		r.fn(int(x.GetIndex()), nil, errorOf(x.GetFailure()))
		return nil
	}
	if !r.under {
		if len(x.GetDs()) > 0 {
			r.ds = x.GetDs()
		}
		values := r.rows.Values[:0]
		if !r.reuse {
			values = nil
		}
		if n := int64(len(x.GetValues())) + x.GetMore(); x.GetMore() > 0 && n <= core.MaxFetchRows {
			values = append(make([]float64, 0, n), values...)
		}
		r.rows = core.Rows{Start: x.GetStart(), End: x.GetEnd(), Step: x.GetStep(), DS: r.ds, Values: values}
	}
	if int64(len(r.rows.Values))+int64(len(x.GetValues())) > core.MaxFetchRows {
		return malformed("more than %d values of one series", core.MaxFetchRows)
	}
	r.rows.Values = append(r.rows.Values, x.GetValues()...)
	if r.under = x.GetMore() > 0; !r.under {
		r.fn(int(x.GetIndex()), &r.rows, nil)
	}
	return nil
}
