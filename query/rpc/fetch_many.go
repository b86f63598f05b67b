package rpc

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/rra"
)

// FetchMany returns rows of several series. What is wrong with one selection stands in its result;
// the others are answered.
func (s *Server) FetchMany(ctx context.Context, m *rondov1.FetchManyRequest) (*rondov1.FetchManyResponse, error) {
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
	of, err := read.plan(ctx, m.GetSelect(), r, answer.Results)
	if err == nil {
		err = read.fill(ctx, of, answer.Results)
	}
	if err = cmp.Or(ctx.Err(), err); err != nil {
		return nil, fail(err, "fetch")
	}
	return answer, nil
}

// manyRange checks a FetchMany and returns the range that it asks for.
func (s *Server) manyRange(m *rondov1.FetchManyRequest) (query.Request, error) {
	r, err := s.asked(m)
	n := len(m.GetSelect())
	switch {
	case err != nil:
		return r, err
	case m.GetMaxPoints() < 0 || m.GetMaxPoints() > maxPoints:
		return r, invalid("max_points %d is not in 0..%d", m.GetMaxPoints(), maxPoints)
	case m.GetAfter() < 0:
		return r, invalid("after %d is negative", m.GetAfter())
	case n == 0 || n > maxSelections:
		return r, invalid("%d selections, 1 to %d are possible", n, maxSelections)
	}
	return r, nil
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

// A selected is a selection that can be read.
type selected struct {
	at     int // in the request
	path   string
	points *query.Points
}

// plan plans what to read of selections. What is wrong with one goes into its result.
func (x *manyReader) plan(ctx context.Context, all []*rondov1.Selection, r query.Request, results []*rondov1.FetchResult) ([]selected, error) {
	series, errs := make([]core.Series, len(all)), make([]error, len(all))
	places := make(map[string]int) // of a path, in refs
	var refs []core.Ref
	for i, sel := range all {
		k, ok := places[sel.GetPath()]
		if ok {
			series[i] = series[k]
			continue
		}
		if series[i], errs[i] = x.server.series(ctx, sel.GetPath(), 0); errs[i] == nil {
			places[sel.GetPath()] = i
			refs = append(refs, series[i].Ref)
		}
	}
	opens, err := query.Opens(ctx, x.server.Store, refs)
	if err != nil {
		return nil, err
	}
	byRef := make(map[core.Ref]*query.Open)
	for k, ref := range refs {
		byRef[ref] = &opens[k]
	}
	var of []selected
	for i, sel := range all {
		p, err := (*query.Points)(nil), errs[i]
		if err == nil {
			p, err = x.selection(sel, series[i], byRef[series[i].Ref], r)
		}
		if err == nil {
			err = x.admit(p, len(series[i].Definition.Sources))
		}
		if results[i] = resultOf(nil, err); err == nil {
			of = append(of, selected{i, series[i].Path, p})
		}
	}
	return of, nil
}

// selection plans what to read of one selection.
func (x *manyReader) selection(sel *rondov1.Selection, e core.Series, o *query.Open, r query.Request) (p *query.Points, err error) {
	if r.CF, err = parseCF(sel.GetCf()); err != nil {
		return nil, err
	}
	points := x.points
	if x.fixed {
		points = 0
	}
	if p, err = query.NewPoints(e, o, r, points); err != nil {
		return nil, fail(err, "fetch %.200q", e.Path)
	}
	p.After(x.after)
	p.Want, err = sourcesOf(e.Definition.Sources, sel.GetDs(), e.Path)
	return p, err
}

// fill reads selections into their results.
func (x *manyReader) fill(ctx context.Context, of []selected, results []*rondov1.FetchResult) error {
	plans := make([]*query.Points, len(of))
	for k := range of {
		plans[k] = of[k].points
	}
	tables, errs, err := query.ReadPoints(ctx, x.server.Store, plans, x.reads)
	if err != nil {
		return err
	}
	for k, s := range of {
		if _, refused := errors.AsType[*connect.Error](errs[k]); errs[k] != nil && !refused {
			errs[k] = fail(errs[k], "fetch %.200q", s.path)
		}
		results[s.at] = resultOf(rowsOf(s.path, tables[k]), errs[k])
	}
	return nil
}

// resultOf returns the result of a selection.
func resultOf(rows *rondov1.FetchResponse, err error) *rondov1.FetchResult {
	if err != nil {
		return &rondov1.FetchResult{Error: messageOf(err), Code: connect.CodeOf(err).String()}
	}
	return &rondov1.FetchResult{Rows: rows}
}

// rowsOf returns the rows of a table, column by column.
func rowsOf(path string, t *query.Table) *rondov1.FetchResponse {
	return &rondov1.FetchResponse{Path: path, Start: t.Start, End: t.End, Step: t.Step, Columns: columnsOf(t.DS, t.Values)}
}

// admit takes a selection's rows out of what the request may read and be given, and charges them.
func (x *manyReader) admit(p *query.Points, sources int) error {
	read, given, columns := p.Rows(), p.Len(), int64(p.Columns())
	if x.fixed && read > maxPoints {
		return exhausted("%d rows asked, at most %d are given of a series", read, maxPoints)
	}
	if given > x.given/max(columns, 1) {
		return exhausted("%d rows of %d values asked, at most %d values are given at once", given, columns, maxFetchValues)
	}
	if read > x.read {
		return x.reads(read)
	}
	if err := x.reads(read * int64(sources)); err != nil {
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

// sourcesOf returns the places in all of the wanted data sources of a series; nil: all are wanted.
func sourcesOf(all []rra.DataSource, wanted []string, path string) ([]int, error) {
	if len(wanted) > len(all) {
		return nil, invalid("%d data sources asked, %.200q has %d", len(wanted), path, len(all))
	}
	var out []int
	for _, name := range wanted {
		i := slices.IndexFunc(all, func(d rra.DataSource) bool { return d.Name == name })
		if i < 0 {
			return nil, connect.NewError(connect.CodeNotFound, errNoSource(name, path))
		}
		out = append(out, i)
	}
	return out, nil
}
