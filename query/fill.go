package query

import (
	"context"
	"fmt"

	"github.com/rondo-db/rondo/engine/core"
)

// fillValues is how many values Fill reads of several levels at once.
const fillValues = 1 << 20

// ReadBases reads the rows of the bases, and the rows of finer archives behind them. For each join
// admit is called before, with the number of values of finer archives. Its error is the join's.
func ReadBases(ctx context.Context, s core.Fetcher, all []*Join, admit func(values int64) error) error {
	r := reader{admit: admit}
	for _, x := range all {
		r.add(x, func() bool {
			x.begin(func(s core.Span) { r.read(x, -1, s) }, func(level int, s core.Span) { r.read(x, level, s) })
			return true
		})
	}
	return r.fetch(ctx, s, func(*Join) {})
}

// Fill reads what all need for their holes: of all levels at once, if these are few rows.
func Fill(ctx context.Context, s core.Fetcher, all []*Join, admit func(values int64) error) error {
	for {
		r := reader{admit: admit}
		for _, x := range all {
			r.add(x, func() bool {
				return x.next(fillValues/int64(len(all)), func(level int, s core.Span) { r.read(x, level, s) })
			})
		}
		if len(r.joins) == 0 {
			return nil
		}
		if err := r.fetch(ctx, s, (*Join).nexted); err != nil {
			return err
		}
	}
}

// A reader is one fetch for several joins.
type reader struct {
	admit  func(values int64) error
	joins  []*Join
	spans  []core.Span
	of     []spanOf
	values int64 // of the join at hand, without the base's
}

// A spanOf says what a span is for.
type spanOf struct {
	join  *Join
	level int // -1: the base
}

// add adds what a join reads, which plan says.
func (r *reader) add(x *Join, plan func() bool) {
	before := len(r.spans)
	if r.values = 0; x.Err != nil || !plan() {
		return
	}
	if x.Err = r.admit(r.values); x.Err != nil {
		r.spans, r.of = r.spans[:before], r.of[:before]
		return
	}
	r.joins = append(r.joins, x)
}

func (r *reader) read(x *Join, level int, s core.Span) {
	if level >= 0 {
		r.values += (s.End - s.Start) / x.length(s.Archive) * int64(len(x.def.Sources))
	}
	r.spans, r.of = append(r.spans, s), append(r.of, spanOf{x, level})
}

// fetch reads all, and calls done with each join that got its rows.
func (r *reader) fetch(ctx context.Context, s core.Fetcher, done func(*Join)) error {
	err := fetch(ctx, s, r.spans, func(i int, rows *core.Rows, err error) error {
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
			x.taken(&x.levels[level], rows)
		}
		return nil
	})
	for _, x := range r.joins {
		if err == nil && x.Err == nil {
			done(x)
		}
	}
	return err
}
