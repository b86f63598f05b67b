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
		last, err := core.Last(ctx, t.server.Store, x.ref)
		if errors.Is(err, core.ErrNotFound) {
			delete(t.series, x.ref) // choose finds it if it has come again, or was altered
			t.sentTo[x.path] = x.next
			continue
		}
		if errors.Is(err, core.ErrDamaged) {
			return false, false, fail(err, "last update of %.200q", x.path)
		}
		if err != nil {
			t.failed = fail(err, "last update of %.200q", x.path)
			break // the others are looked at again
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
		if err := t.read(ctx, k, g.refs, g.of, answer); err != nil {
			t.failed = fail(err, "tail")
			break // the others would wait for the same machine; they are looked at again
		}
	}
	if err := ctx.Err(); err != nil {
		return false, false, fail(err, "tail")
	}
	if t.failed == nil || len(answer.Rows) > 0 {
		sent, err = true, t.answer(answer)
	}
	return sent, more && t.failed == nil, err
}

// read adds the rows of one span to an answer. A series whose rows are damaged goes on behind them.
// A series whose rows could not be read for another reason stays where it is: its rows are there,
// and will come. If the series was altered, they come under its new reference.
func (t *tail) read(ctx context.Context, k latestSpan, refs []core.Ref, of []*tailed, answer *rondov1.TailResponse) error {
	return t.server.readSpan(ctx, k, refs, func(i int, rows *core.Rows, err error) {
		if errors.Is(err, core.ErrNotFound) {
			return
		}
		x := of[i]
		x.next = k.end
		if err == nil && rows.Step == k.step {
			answer.Rows = append(answer.Rows, &rondov1.FetchResponse{Path: x.path, Start: rows.Start, End: rows.End, Step: rows.Step, Columns: columnsOf(rows.DS, rows.Values)})
		}
	})
}

// giveUp ends the stream because series have been out of reach for too long. Before that it says,
// by ranges without rows, how far each series has come: the client begins again at the least.
func (t *tail) giveUp() error {
	answer := &rondov1.TailResponse{}
	for _, x := range t.series {
		answer.Rows = append(answer.Rows, &rondov1.FetchResponse{Path: x.path, Start: x.next, End: x.next, Step: x.step})
	}
	if err := t.answer(answer); err != nil {
		return err
	}
	return t.failed
}
