package rpc

import (
	"context"
	"errors"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// piece sends one answer with new rows, if there are any. more is false if there were no others.
func (t *tail) piece(ctx context.Context) (sent, more bool, err error) {
	type group struct {
		refs []core.Ref
		of   []*tailed
	}
	spans := make(map[latestSpan]*group)
	left := int64(maxTailValues)
	for _, x := range t.series {
		last, err := t.server.Store.Last(x.ref)
		if errors.Is(err, core.ErrNotFound) {
			delete(t.series, x.ref) // choose finds it if it has come again
			continue
		}
		if err != nil {
			return false, false, fail(err, "last update of %.200q", x.path)
		}
		end := last.Unix() - last.Unix()%x.step
		if end <= x.next {
			continue
		}
		rows := min((end-x.next)/x.step, max(1, left/int64(x.sources)))
		if more = more || rows < (end-x.next)/x.step; left <= 0 {
			more = true
			break
		}
		left -= rows * int64(x.sources)
		k := latestSpan{x.archive, x.next, x.next + rows*x.step, x.step}
		if spans[k] == nil {
			spans[k] = &group{}
		}
		spans[k].refs, spans[k].of = append(spans[k].refs, x.ref), append(spans[k].of, x)
	}
	if len(spans) == 0 {
		return false, false, nil
	}
	defer t.account.Close()
	if err := t.account.Charge(2 * 8 * (maxTailValues - left)); err != nil {
		return false, false, fail(err, "tail")
	}
	answer := &rondov1.TailResponse{}
	for k, g := range spans {
		// fn gets the errors of single series, whose rows are left out
		_ = t.server.Store.FetchMany(ctx, g.refs, k.archive, k.start, k.end, func(i int, rows *core.Rows, err error) {
			x := g.of[i]
			if x.next = k.end; err == nil && rows.Step == k.step {
				answer.Rows = append(answer.Rows, &rondov1.FetchResponse{Path: x.path, Start: rows.Start, End: rows.End, Step: rows.Step, Columns: columnsOf(rows)})
			}
		})
		if err := ctx.Err(); err != nil {
			return false, false, fail(err, "tail")
		}
	}
	return true, more, t.answer(answer)
}
