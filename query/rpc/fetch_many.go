package rpc

import (
	"context"
	"errors"
	"slices"

	"connectrpc.com/connect"

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
	points := x.points
	if x.fixed {
		points = 0
	}
	p, err := query.NewPoints(ctx, x.server.Store, e.Ref, r, points)
	if err != nil {
		return nil, fail(err, "fetch %.200q", e.Path)
	}
	p.After(x.after)
	if p.Want, err = sourcesOf(p.Plan.DS, sel.GetDs(), e.Path); err != nil {
		return nil, err
	}
	if err := x.admit(p); err != nil {
		return nil, err
	}
	t, err := p.Read(ctx, x.reads)
	if refused, ok := errors.AsType[*connect.Error](err); ok {
		return nil, refused
	}
	if err != nil {
		return nil, fail(err, "fetch %.200q", e.Path)
	}
	rows := &rondov1.FetchResponse{Path: e.Path, Start: t.Start, End: t.End, Step: t.Step}
	for i, name := range t.DS {
		values := make([]float64, 0, p.Rows())
		for at := i; at < len(t.Values); at += len(t.DS) {
			values = append(values, t.Values[at])
		}
		rows.Columns = append(rows.Columns, &rondov1.Column{Ds: name, Values: values})
	}
	return rows, nil
}

// admit takes a selection's rows out of what the request may read and be given, and charges them.
func (x *manyReader) admit(p *query.Points) error {
	read, given, columns := p.Plan.Rows(), p.Rows(), int64(len(p.Want))
	if x.fixed && read > maxPoints {
		return exhausted("%d rows asked, at most %d are given of a series", read, maxPoints)
	}
	if given > x.given/max(columns, 1) {
		return exhausted("%d rows of %d values asked, at most %d values are given at once", given, columns, maxFetchValues)
	}
	if read > x.read {
		return x.reads(read)
	}
	if err := x.reads(read * int64(len(p.Plan.DS))); err != nil {
		return err
	}
	x.given -= given * columns
	return x.charge.doubles(given * columns)
}

// reads takes values out of what the request may read.
func (x *manyReader) reads(values int64) error {
	if values > x.read {
		return exhausted("%d values more would be read, at most %d are read for one request", values, maxReadValues)
	}
	x.read -= values
	return nil
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
