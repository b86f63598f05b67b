package peer

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cluster/peer/peerv1"
	"github.com/rondo-db/rondo/engine/core"
)

// FetchMany is core.Engine's.
func (c *Client) FetchMany(ctx context.Context, spans []core.Span, fn func(i int, r *core.Rows, err error)) error {
	var first error
	for from := 0; from < len(spans) || from == 0; from += maxRefs {
		part := spans[from:min(from+maxRefs, len(spans))]
		err := c.fetchSpans(ctx, part, len(spans) > 1, func(i int, rows *core.Rows, err error) { fn(from+i, rows, err) })
		if first == nil {
			first = err
		}
		if ctx.Err() != nil || errors.Is(first, core.ErrUnavailable) {
			break
		}
	}
	return first
}

// fetchSpans is FetchMany for one request.
func (c *Client) fetchSpans(ctx context.Context, spans []core.Span, reuse bool, fn func(i int, r *core.Rows, err error)) error {
	sent, at := sentSpans(spans)
	r := rowReader{fn: fn, at: at, reuse: reuse}
	own, cancel := context.WithCancel(ctx)
	in, err := c.node.rpc.Fetch(own, connect.NewRequest(&peerv1.FetchRequest{Target: c.target(ctx), Spans: sent}))
	err = drain(ctx, c, cancel, in, err, func(m *peerv1.FetchResponse) (bool, error) {
		for _, x := range m.GetRows() {
			if err := r.add(x); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	return cmp.Or(err, r.whole())
}

// sentSpans puts spans of the same range together. at has the place of each series in spans.
func sentSpans(spans []core.Span) (sent []*peerv1.FetchSpan, at []int) {
	places := make(map[core.Span]int) // in sent, without a series
	of := make([][]int, 0, 1)
	for i, x := range spans {
		ref := x.Ref
		x.Ref = 0
		k, ok := places[x]
		if !ok {
			k = len(sent)
			places[x] = k
			sent = append(sent, &peerv1.FetchSpan{Archive: int64(x.Archive), Start: x.Start, End: x.End, Known: x.Known})
			of = append(of, nil)
		}
		sent[k].Refs = append(sent[k].Refs, uint64(ref))
		of[k] = append(of[k], i)
	}
	return sent, slices.Concat(of...)
}

// A rowReader puts the pieces of rows together and calls fn with each series.
type rowReader struct {
	fn    func(i int, r *core.Rows, err error)
	at    []int // what fn takes for the series that were asked for
	given int   // series so far
	reuse bool  // fn keeps no rows
	rows  core.Rows
	ds    []string
	under bool // pieces of rows are missing
}

// whole returns an error if rows are missing.
func (r *rowReader) whole() error {
	if r.given < len(r.at) {
		return malformed("rows of %d series, not of %d", r.given, len(r.at))
	}
	return nil
}

// give calls fn with a whole answer.
func (r *rowReader) give(x *peerv1.Rows, rows *core.Rows, err error) {
	r.given++
	r.fn(r.at[x.GetIndex()], rows, err)
}

func (r *rowReader) add(x *peerv1.Rows) error {
	if i := x.GetIndex(); i < 0 || i >= int64(len(r.at)) {
		return malformed("rows of series %d of %d", i, len(r.at))
	}
	if x.GetFailure() != nil {
		r.give(x, nil, errorOf(x.GetFailure()))
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
		r.rows = core.Rows{Start: x.GetStart(), End: x.GetEnd(), Step: x.GetStep(), DS: r.ds, Values: values, First: x.GetFirst()}
	}
	if int64(len(r.rows.Values))+int64(len(x.GetValues())) > core.MaxFetchRows {
		return malformed("more than %d values of one series", core.MaxFetchRows)
	}
	r.rows.Values = append(r.rows.Values, x.GetValues()...)
	if r.under = x.GetMore() > 0; !r.under {
		r.give(x, &r.rows, nil)
	}
	return nil
}
