package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/graphdata"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// Xport returns columns of several series side by side.
func (s *Server) Xport(ctx context.Context, req *rondov1.XportRequest) (*rondov1.XportResponse, error) {
	p, err := s.xportProgram(req)
	if err != nil {
		return nil, err
	}
	from := viewSource{s.view(ctx), s.Store}
	readings, err := p.Readings(ctx, from)
	if err != nil {
		return nil, failOr(connect.CodeInvalidArgument, err, "xport")
	}
	charge := chargeFor(ctx)
	if err := admitReadings(readings, &charge); err != nil {
		return nil, err
	}
	if err := p.Run(ctx, from); err != nil {
		return nil, failOr(connect.CodeInvalidArgument, err, "xport")
	}
	exports := p.Exports()
	if len(exports) == 0 {
		return nil, invalid("lines have no XPORT: there is nothing to answer")
	}
	g := p.Grid()
	if n := int64(len(exports)); g.Rows() > maxFetchValues/n {
		return nil, exhausted("%d rows of %d values asked, at most %d values are given at once", g.Rows(), n, maxFetchValues)
	}
	if err := charge.doubles(g.Rows() * int64(len(exports))); err != nil {
		return nil, err
	}
	answer := &rondov1.XportResponse{Start: g.Start, End: g.End, Step: g.Step}
	for _, e := range exports {
		cursor := graphdata.NewCursor(p.Series(e.Variable))
		values := make([]float64, 0, g.Rows())
		for at := g.Start + g.Step; at <= g.End; at += g.Step {
			values = append(values, cursor.At(at))
		}
		answer.Columns = append(answer.Columns, &rondov1.XportColumn{Legend: e.Legend, Values: values})
	}
	return answer, ctx.Err()
}

// The defaults and limits of rrdtool's xport.
const (
	defaultXportRows = 400
	leastXportRows   = 10
)

func (s *Server) xportProgram(m *rondov1.XportRequest) (*graphdata.Program, error) {
	start, end, err := timeRange(m, s.now())
	rows := cmp.Or(m.GetMaxRows(), defaultXportRows)
	switch n := len(m.GetLines()); {
	case err != nil:
		return nil, invalid("%w", err)
	case n == 0 || n > maxXportLines:
		return nil, invalid("%d lines, 1 to %d are possible", n, maxXportLines)
	case rows < leastXportRows:
		return nil, invalid("max_rows %d is less than %d", rows, leastXportRows)
	case m.GetStep() < 0:
		return nil, invalid("step %d is negative", m.GetStep())
	}
	if err := graphdata.CheckRange(start, end); err != nil {
		return nil, invalid("start and end: %w", err)
	}
	p := graphdata.New(graphdata.Options{
		Start: start, End: end, Step: max(m.GetStep(), (end-start)/rows), Now: s.now(), Work: maxXportWork,
	})
	for i, line := range m.GetLines() {
		if err := p.Add(line); err != nil {
			return nil, invalid("lines[%d]: %w", i, err)
		}
	}
	return p, nil
}

// admitReadings charges what the DEFs of a program read and keep, and bounds it.
func admitReadings(readings []graphdata.Reading, charge *answerCharge) error {
	var n int64
	for _, r := range readings {
		n += min(r.Kept, maxFetchValues+1)
		if r.Plan != nil {
			from, to := r.Plan.Held()
			n += min(max(0, (to-from)/r.Plan.Step), maxFetchValues) * int64(max(1, len(r.Plan.DS)))
			if r.Plan.Rows() > maxReadValues {
				return exhausted("%d rows asked of one DEF, at most %d are possible", r.Plan.Rows(), maxReadValues)
			}
		}
		if n > maxFetchValues {
			return exhausted("the DEFs read and keep %d values or more, at most %d are possible", n, maxFetchValues)
		}
	}
	return charge.bytes(8 * n)
}

// A viewSource finds the series that lines name in a store: no files of this machine, and no other
// servers.
type viewSource struct {
	view  access.View
	store core.Engine
}

// Open finds the series that a DEF names.
func (s viewSource) Open(_ context.Context, name, daemon string) (query.Store, core.Ref, error) {
	if daemon != "" {
		return nil, 0, errors.New("this server does not ask others: daemon= is for the command line")
	}
	ref, err := s.view.Lookup(name)
	if err != nil {
		return nil, 0, fmt.Errorf("look up %.200q: %w", name, err)
	}
	return core.Simple{Engine: s.store}, ref, nil
}
