package rpc

import (
	"context"
	"errors"
	"strings"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/rra"
)

// Latest returns the newest rows of many series at once.
func (s *Server) Latest(ctx context.Context, m *rondov1.LatestRequest) (*rondov1.LatestResponse, error) {
	limit, err := pageSize(m.GetLimit(), defaultPage, maxPage)
	switch {
	case err != nil:
		return nil, err
	case m.GetRows() < 0 || m.GetRows() > maxLatestRows:
		return nil, invalid("rows %d is not in 0..%d", m.GetRows(), maxLatestRows)
	case len(m.GetPaths()) > maxLatestPaths:
		return nil, invalid("%d paths, at most %d are possible", len(m.GetPaths()), maxLatestPaths)
	}
	charge := chargeFor(ctx)
	r := &latestReader{server: s, rows: int64(max(1, m.GetRows())), since: rra.Time(m.GetSinceUs()), charge: &charge, answer: &rondov1.LatestResponse{}}
	if len(m.GetPaths()) > 0 {
		err = r.named(ctx, m.GetPaths())
	} else {
		err = r.page(ctx, m, limit)
	}
	if err == nil {
		err = r.read(ctx)
	}
	if err != nil {
		return nil, err
	}
	return r.answer, nil
}

// A latestReader reads the rows of one Latest.
type latestReader struct {
	server *Server
	rows   int64
	since  rra.Time
	charge *answerCharge
	answer *rondov1.LatestResponse
	spans  map[latestSpan]*latestGroup
}

// A latestSpan is a range of rows. Series with the same range are read together.
type latestSpan struct {
	archive          int
	start, end, step int64
}

// A latestGroup is the series of a span.
type latestGroup struct {
	refs  []core.Ref
	items []*rondov1.LatestSeries
	units [][]string // by data source
}

// named adds the series of paths. Series that do not exist are left out.
func (r *latestReader) named(ctx context.Context, paths []string) error {
	for _, path := range paths {
		e, err := r.server.series(ctx, path, 0)
		if connect.CodeOf(err) == connect.CodeNotFound {
			continue
		}
		if err == nil {
			err = r.add(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// page adds the series of a page.
func (r *latestReader) page(ctx context.Context, m *rondov1.LatestRequest, limit int) error {
	q := core.Query{Prefix: m.GetPrefix(), Order: core.ByPath}
	some := q
	some.After, some.Page = m.GetPage(), limit+1
	page, more, err := r.server.page(ctx, some, q, limit, func(*core.Series) bool { return true })
	if err != nil {
		return fail(err, "list %.200q", m.GetPrefix())
	}
	if more {
		r.answer.NextPage = page[len(page)-1].Path
	}
	for _, e := range page {
		if err := r.add(e); err != nil {
			return err
		}
	}
	return nil
}

// add adds a series to the answer, without its rows, and to the group that they are read with.
func (r *latestReader) add(e core.Series) error {
	last, err := core.Last(context.Background(), r.server.Store, e.Ref)
	if errors.Is(err, core.ErrNotFound) || err == nil && last <= r.since {
		return nil
	}
	if err != nil {
		return fail(err, "last update of %.200q", e.Path)
	}
	item := &rondov1.LatestSeries{Path: e.Path, LastUpdateUs: int64(last)}
	units, err := r.server.unitsOf(e)
	if err != nil {
		return err
	}
	if err := r.charge.texts(len(e.Path) + len(strings.Join(units, "")) + 16); err != nil {
		return err
	}
	r.answer.Series = append(r.answer.Series, item)
	archive := query.Finest(e.Definition, rra.Average)
	if archive < 0 {
		return nil
	}
	step := e.Definition.Step * e.Definition.Archives[archive].PDPs
	end := last.Unix() - last.Unix()%step
	rows := min(r.rows, e.Definition.Archives[archive].Rows)
	item.End, item.Step = end, step
	if err := r.charge.doubles(rows * int64(len(e.Definition.Sources))); err != nil {
		return err
	}
	if r.spans == nil {
		r.spans = make(map[latestSpan]*latestGroup)
	}
	k := latestSpan{archive, max(0, end-rows*step), end, step}
	g := r.spans[k]
	if g == nil {
		g = &latestGroup{}
		r.spans[k] = g
	}
	g.refs, g.items, g.units = append(g.refs, e.Ref), append(g.items, item), append(g.units, units)
	return nil
}

// read reads the rows of all groups. A series that was dropped meanwhile, or whose rows are
// damaged, has none.
func (r *latestReader) read(ctx context.Context) error {
	for k, g := range r.spans {
		err := r.server.readSpan(ctx, k, g.refs, func(i int, rows *core.Rows, err error) {
			if err == nil && rows.Step == k.step && len(rows.DS) == len(g.units[i]) {
				g.items[i].Columns = columnsOf(rows.DS, rows.Values)
				for j, c := range g.items[i].Columns {
					c.Unit = g.units[i][j]
				}
			}
		})
		if err != nil {
			return fail(err, "fetch")
		}
	}
	return nil
}

// readSpan reads the rows of series in a span, and calls put for each. It returns an error of rows
// that are there and could not be read.
func (s *Server) readSpan(ctx context.Context, k latestSpan, refs []core.Ref, put func(i int, rows *core.Rows, err error)) (unread error) {
	err := s.Store.FetchMany(ctx, core.Spans(refs, k.archive, k.start, k.end), func(i int, rows *core.Rows, err error) {
		if err != nil && !hasNone(err) {
			unread = err
			return
		}
		put(i, rows, err)
	})
	if err != nil && !hasNone(err) {
		return err
	}
	return unread
}

// hasNone reports whether an error of a series says that its rows cannot be had by asking again:
// it was dropped, or they are damaged.
func hasNone(err error) bool {
	return errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrDamaged)
}

// columnsOf copies rows of data sources, column by column.
func columnsOf(ds []string, rows []float64) []*rondov1.Column {
	columns := make([]*rondov1.Column, len(ds))
	for j, name := range ds {
		values := make([]float64, len(rows)/len(ds))
		for i := range values {
			values[i] = rows[i*len(ds)+j]
		}
		columns[j] = &rondov1.Column{Ds: name, Values: values}
	}
	return columns
}
