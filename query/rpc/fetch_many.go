package rpc

import (
	"context"
	"slices"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// FetchMany returns rows of several series. What is wrong with one selection stands in its result;
// the others are answered.
func (s *Server) FetchMany(ctx context.Context, req *connect.Request[rondov1.FetchManyRequest]) (*connect.Response[rondov1.FetchManyResponse], error) {
	m := req.Msg
	r, err := s.manyRange(m)
	if err != nil {
		return nil, err
	}
	most := int64(maxPoints)
	if m.GetMaxPoints() > 0 {
		most = max(int64(m.GetMaxPoints()), query.MinPoints)
	}
	charge := chargeFor(ctx)
	answer := &rondov1.FetchManyResponse{Results: make([]*rondov1.FetchResult, len(m.GetSelect()))}
	read := &manyReader{server: s, points: most, after: m.GetAfter(), fixed: m.GetMaxPoints() == 0, read: maxReadValues, given: maxFetchValues, charge: &charge}
	for i, sel := range m.GetSelect() {
		rows, err := read.selection(ctx, sel, r)
		if ctx.Err() != nil {
			return nil, fail(ctx.Err(), "fetch")
		}
		answer.Results[i] = &rondov1.FetchResult{Rows: rows}
		if err != nil {
			answer.Results[i] = &rondov1.FetchResult{Error: messageOf(err), Code: connect.CodeOf(err).String()}
		}
	}
	return connect.NewResponse(answer), nil
}

// manyRange checks a FetchMany and returns the range that it asks for.
func (s *Server) manyRange(m *rondov1.FetchManyRequest) (query.Request, error) {
	start, end, err := timeRange(m, s.now())
	n := len(m.GetSelect())
	switch {
	case err != nil:
		return query.Request{}, invalid("%w", err)
	case start < 0 || end < start:
		return query.Request{}, invalid("start (%d) is not before end (%d), or before 1970%s", start, end, monthsHint(m))
	case m.GetResolution() < 0:
		return query.Request{}, invalid("resolution %d is negative", m.GetResolution())
	case m.GetMaxPoints() < 0 || m.GetMaxPoints() > maxPoints:
		return query.Request{}, invalid("max_points %d is not in 0..%d", m.GetMaxPoints(), maxPoints)
	case m.GetAfter() < 0:
		return query.Request{}, invalid("after %d is negative", m.GetAfter())
	case n == 0 || n > maxSelections:
		return query.Request{}, invalid("%d selections, 1 to %d are possible", n, maxSelections)
	}
	return query.Request{Start: start, End: end, Resolution: m.GetResolution()}, nil
}

// A manyReader reads the selections of one FetchMany.
type manyReader struct {
	server *Server
	points int64 // rows of a selection
	after  int64 // rows that end then or before are left out
	fixed  bool  // the request asks for a resolution and not for points
	read   int64 // values that may still be read
	given  int64 // values that may still be given
	charge *answerCharge
}

// selection returns the rows of one selection.
func (x *manyReader) selection(ctx context.Context, sel *rondov1.Selection, r query.Request) (*rondov1.FetchResponse, error) {
	var err error
	if r.CF, err = parseCF(sel.GetCf()); err != nil {
		return nil, err
	}
	e, err := x.server.series(ctx, sel.GetPath(), 0)
	if err != nil {
		return nil, err
	}
	var p *query.Points
	if x.fixed {
		p = &query.Points{Every: 1, CF: r.CF}
		p.Plan, err = query.NewPlan(core.Simple{Engine: x.server.Store}, e.Ref, r)
	} else {
		p, err = query.NewPoints(core.Simple{Engine: x.server.Store}, e.Ref, r, x.points)
	}
	if err != nil {
		return nil, fail(err, "fetch %.200q", e.Path)
	}
	p.After(x.after)
	wanted, err := sourcesOf(p.Plan.DS, sel.GetDs(), e.Path)
	if err != nil {
		return nil, err
	}
	if err := x.admit(p, int64(len(wanted))); err != nil {
		return nil, err
	}
	rows := &rondov1.FetchResponse{Path: e.Path, Start: p.Plan.Start, End: p.Plan.End, Step: p.Step()}
	for _, i := range wanted {
		rows.Columns = append(rows.Columns, &rondov1.Column{Ds: p.Plan.DS[i], Values: make([]float64, 0, p.Rows())})
	}
	err = p.Each(ctx, func(_ int64, values []float64) {
		for c, i := range wanted {
			rows.Columns[c].Values = append(rows.Columns[c].Values, values[i])
		}
	})
	if err != nil {
		return nil, fail(err, "fetch %.200q", e.Path)
	}
	return rows, nil
}

// admit takes a selection's rows out of what the request may read and be given, and charges them.
func (x *manyReader) admit(p *query.Points, columns int64) error {
	read, given := p.Plan.Rows(), p.Rows()
	sources := int64(len(p.Plan.DS))
	switch {
	case x.fixed && read > maxPoints:
		return exhausted("%d rows asked, at most %d are given of a series", read, maxPoints)
	case read > x.read/sources:
		return exhausted("%d rows of %d values would be read, at most %d values are read for one request", read, sources, maxReadValues)
	case given > x.given/max(columns, 1):
		return exhausted("%d rows of %d values asked, at most %d values are given at once", given, columns, maxFetchValues)
	}
	x.read -= read * sources
	x.given -= given * columns
	return x.charge.doubles(given * columns)
}

// sourcesOf returns the places in all of the wanted data sources of a series; without any, of all.
func sourcesOf(all, wanted []string, path string) ([]int, error) {
	if len(wanted) == 0 {
		out := make([]int, len(all))
		for i := range out {
			out[i] = i
		}
		return out, nil
	}
	if len(wanted) > len(all) {
		return nil, invalid("%d data sources asked, %.200q has %d", len(wanted), path, len(all))
	}
	var out []int
	for _, name := range wanted {
		i := slices.Index(all, name)
		if i < 0 {
			return nil, connect.NewError(connect.CodeNotFound, errNoSource(name, path))
		}
		out = append(out, i)
	}
	return out, nil
}
