package peer

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/partial"
	"github.com/rondo-db/rondo/rra"
)

// fetchValues is how many values of rows a part of an answer has at most.
const fetchValues = chunkBytes / 8

// codeSpans codes spans. Most have the range of the one before.
func codeSpans(k *coder, x *[]core.Span) {
	var was core.Span
	list(k, x, func(k *coder, s *core.Span) {
		fixed(k, &s.Ref)
		was.Ref = s.Ref
		same := *s == was
		if k.flag(&same); same {
			*s = was
			return
		}
		number(k, &s.Archive)
		number(k, &s.Start)
		number(k, &s.End)
		k.flag(&s.Known)
		was = *s
	})
}

// A rowsPart is rows of one series, or a piece of them.
type rowsPart struct {
	index int // in the spans
	err   error
	rows  core.Rows
	more  int // values in the next parts
}

func codeRows(k *coder, x *rowsPart) {
	number(k, &x.index)
	k.error(&x.err)
	number(k, &x.rows.Start)
	number(k, &x.rows.End)
	number(k, &x.rows.Step)
	number(k, &x.rows.First)
	same := slices.Equal(k.ds, x.rows.DS)
	if k.flag(&same); same {
		x.rows.DS = k.ds
	} else {
		texts(k, &x.rows.DS)
		k.ds = slices.Clone(x.rows.DS)
	}
	k.floats(&x.rows.Values)
	number(k, &x.more)
}

var fetch = define("fetch", codeSpans, codeRows, func(x *call, spans *[]core.Span, give func(*rowsPart) bool) error {
	var part rowsPart
	return x.engine.FetchMany(x.ctx, *spans, func(i int, r *core.Rows, err error) {
		if part = (rowsPart{index: i, err: err}); err != nil {
			give(&part)
			return
		}
		part.rows = *r
		for values := r.Values; ; {
			part.rows.Values = values[:min(len(values), fetchValues)]
			values = values[len(part.rows.Values):]
			if part.more = len(values); !give(&part) || part.more == 0 {
				return
			}
		}
	})
})

// FetchMany is core.Engine's.
func (c *Client) FetchMany(ctx context.Context, spans []core.Span, fn func(i int, r *core.Rows, err error)) error {
	var first error
	for from := 0; from < len(spans) || from == 0; from += maxRefs {
		r := rowReader{fn: fn, from: from, left: min(maxRefs, len(spans)-from)}
		r.most = r.left
		err := fetch.ask(ctx, c, spans[from:from+r.left], r.add)
		if err == nil && r.left > 0 {
			err = malformed("rows of %d series are missing", r.left)
		}
		if first = cmp.Or(first, err); ctx.Err() != nil || errors.Is(first, core.ErrUnavailable) {
			break
		}
	}
	return first
}

// A rowReader puts the pieces of rows together and calls fn with each series.
type rowReader struct {
	fn         func(i int, r *core.Rows, err error)
	from       int // the place of the first series
	most, left int // series that were asked for, and those that are missing
	rows       core.Rows
	pieces     bool // rows has pieces
}

func (r *rowReader) add(x *rowsPart) (bool, error) {
	if x.index < 0 || x.index >= r.most {
		return false, malformed("rows of series %d of %d", x.index, r.most)
	}
	switch n := len(x.rows.Values) + max(x.more, 0); {
	case r.pieces:
		r.rows.Values = append(r.rows.Values, x.rows.Values...)
	case x.more > 0 && n <= core.MaxFetchRows:
		r.rows = x.rows
		r.rows.Values = append(make([]float64, 0, n), x.rows.Values...)
	default:
		r.rows = x.rows
	}
	if len(r.rows.Values) > core.MaxFetchRows {
		return false, malformed("more than %d values of one series", core.MaxFetchRows)
	}
	if r.pieces = x.more > 0; r.pieces {
		return true, nil
	}
	r.left--
	if x.err != nil {
		r.fn(r.from+x.index, nil, x.err)
	} else {
		r.fn(r.from+x.index, &r.rows, nil)
	}
	return true, nil
}

// codeLasts codes times, whose highest bits are equal, with a bit each.
func codeLasts(k *coder, x *[]core.LastTime) {
	words(k, x, func(t core.LastTime) uint64 {
		if t.There {
			return uint64(t.Time)<<1 | 1
		}
		return uint64(t.Time) << 1
	}, func(n uint64) core.LastTime { return core.LastTime{Time: rra.Time(int64(n) >> 1), There: n&1 != 0} })
}

var lasts = define("lasts", refs, codeLasts, func(x *call, q *[]core.Ref, give func(*[]core.LastTime) bool) error {
	all, err := x.engine.Lasts(x.ctx, *q)
	for part := range slices.Chunk(all, listChunk) {
		give(&part)
	}
	return err
})

// Lasts is core.Engine's.
func (c *Client) Lasts(ctx context.Context, refs []core.Ref) ([]core.LastTime, error) {
	if len(refs) == 1 {
		var cancel context.CancelFunc
		ctx, cancel = c.bounded(ctx)
		defer cancel()
	}
	out := make([]core.LastTime, 0, len(refs))
	for part := range slices.Chunk(refs, maxRefs) {
		want := len(out) + len(part)
		err := lasts.ask(ctx, c, part, func(x *[]core.LastTime) (bool, error) {
			out = append(out, *x...)
			return true, nil
		})
		if err == nil && len(out) != want {
			err = malformed("%d times, not %d", len(out), want)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func codeExpressions(k *coder, x *partial.Question) {
	texts(k, &x.Expressions)
	number(k, &x.Start)
	number(k, &x.End)
	number(k, &x.Step)
	number(k, &x.Lookback)
	fixed(k, &x.Rules)
	k.flag(&x.ForRule)
}

func codeEvaluated(k *coder, x *partial.Answer) {
	list(k, &x.Series, func(k *coder, x *partial.Series) {
		number(k, &x.Expression)
		labels(k, &x.Labels)
		k.bytes(&x.Known)
		k.floats(&x.Values)
	})
	texts(k, &x.Warnings)
	texts(k, &x.Infos)
}

var evaluate = define("evaluate", codeExpressions, codeEvaluated, func(x *call, q *partial.Question, give func(*partial.Answer) bool) error {
	if x.s.Expressions == nil {
		return connect.NewError(connect.CodeUnimplemented, errors.New("this node evaluates no expressions"))
	}
	a, err := x.s.Expressions(x.ctx, int(x.target.partition), x.engine, *q)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(a.Series, 1) {
		give(&partial.Answer{Series: part})
	}
	give(&partial.Answer{Warnings: a.Warnings, Infos: a.Infos})
	return nil
})

// Evaluate evaluates expressions over the series of the partition, on the node that has it. most
// bounds the values of the answer: with more, the error wraps core.ErrTooLarge.
func (c *Client) Evaluate(ctx context.Context, q partial.Question, most int) (*partial.Answer, error) {
	a := new(partial.Answer)
	err := evaluate.ask(ctx, c, q, func(x *partial.Answer) (bool, error) {
		for i := range x.Series {
			if !x.Series[i].Valid(&q) {
				return false, malformed("a series whose values do not fit to the steps")
			}
			if most -= len(x.Series[i].Values); most < 0 {
				return false, core.ErrTooLarge
			}
		}
		a.Series = append(a.Series, x.Series...)
		a.Warnings, a.Infos = append(a.Warnings, x.Warnings...), append(a.Infos, x.Infos...)
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}
