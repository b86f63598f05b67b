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
	r := reader{admit: admit, room: 3 * len(all)}
	r.plan(all, (*Join).begin)
	return r.fetch(ctx, s)
}

// Fill reads what all need for their holes: of all levels at once, if these are few rows.
func Fill(ctx context.Context, s core.Fetcher, all []*Join, admit func(values int64) error) error {
	r := reader{admit: admit, room: len(all) + 7, most: fillValues / int64(max(1, len(all)))}
	for {
		if r.plan(all, (*Join).next); len(r.spans) == 0 {
			return nil
		}
		if err := r.fetch(ctx, s); err != nil {
			return err
		}
	}
}

// A reader is one fetch for several joins.
type reader struct {
	admit  func(values int64) error
	most   int64 // values of a join, if it reads several levels
	room   int   // for spans, to begin with
	spans  []core.Span
	of     []spanOf
	values int64     // of the join at hand, without the base's
	kept   []float64 // values that joins keep
	before *Join     // one that has levels
	unread []span    // of all joins
	spare  []span    // room for holes, to begin with few
	few    [4]span
	holes  [][]span // by place in want of a join
	copies []span   // of holes
}

// A spanOf says what a span is for.
type spanOf struct {
	join  *Join
	level int // -1: the base
}

// plan plans what each join reads.
func (r *reader) plan(all []*Join, plan func(*Join, *reader)) {
	r.spans, r.of, r.spare = r.spans[:0], r.of[:0], r.few[:0]
	for _, x := range all {
		before := len(r.spans)
		if r.values = 0; x.Err == nil {
			plan(x, r)
		}
		if len(r.spans) > before {
			if x.Err = r.admit(r.values); x.Err != nil {
				r.cut(before)
			}
		}
	}
}

// keep returns a copy of values, which shares memory with others: there are many small ones.
func (r *reader) keep(values []float64) []float64 {
	if cap(r.kept)-len(r.kept) < len(values) {
		r.kept = make([]float64, 0, max(len(values), 32, min(2*cap(r.kept), 1024)))
	}
	at := len(r.kept)
	r.kept = append(r.kept, values...)
	return r.kept[at:len(r.kept):len(r.kept)]
}

func (r *reader) cut(spans int) { r.spans, r.of = r.spans[:spans], r.of[:spans] }

// read adds the rows (from, to] of a level, in pieces.
func (r *reader) read(x *Join, level int, from, to int64) {
	archive := x.base
	if level >= 0 {
		archive = x.levels[level].archive
		r.values += (to - from) / x.length(archive) * int64(len(x.def.Sources))
	}
	if from < to && r.spans == nil {
		r.spans, r.of = make([]core.Span, 0, r.room), make([]spanOf, 0, r.room)
	}
	for most := readRows * x.length(archive); from < to; from += most {
		r.spans = append(r.spans, core.Span{Ref: x.ref, Archive: archive, Start: from, End: min(to, from+most), Known: true})
		r.of = append(r.of, spanOf{x, level})
	}
}

func (r *reader) fetch(ctx context.Context, s core.Fetcher) error {
	return fetch(ctx, s, r.spans, func(i int, rows *core.Rows, err error) error {
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
			x.taken(r, level, rows)
		}
		return nil
	})
}
