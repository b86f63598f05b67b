package rpc

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/charts"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/rra"
)

// Charts returns charts of the series below a prefix.
func (s *Server) Charts(ctx context.Context, req *connect.Request[rondov1.ChartsRequest]) (*connect.Response[rondov1.ChartsResponse], error) {
	m := req.Msg
	limit, from := int(m.GetLimit()), 0
	if m.GetPage() != "" {
		n, err := strconv.ParseUint(m.GetPage(), 10, 31)
		if err != nil {
			return nil, invalid("page %q is not a next_page of these charts", cut(m.GetPage()))
		}
		from = int(n)
	}
	switch {
	case limit < 0:
		return nil, invalid("limit %d is negative", limit)
	case limit == 0:
		limit = defaultCharts
	}
	limit = min(limit, maxCharts)
	prefix := strings.Trim(m.GetPrefix(), "/")
	series, err := s.charted(ctx, prefix)
	if err != nil {
		return nil, err
	}
	all := charts.Assemble(prefix, series)
	charge := chargeFor(ctx)
	var answer rondov1.ChartsResponse
	for i := from; i < len(all); i++ {
		if len(answer.GetCharts()) == limit {
			answer.NextPage = strconv.Itoa(i)
			break
		}
		x := chartOf(&all[i])
		if err := charge.texts(proto.Size(x)); err != nil {
			return nil, err
		}
		answer.Charts = append(answer.Charts, x)
	}
	return connect.NewResponse(&answer), nil
}

// charted returns the series at and below a folder.
func (s *Server) charted(ctx context.Context, prefix string) ([]charts.Series, error) {
	var out []charts.Series
	sources := 0 // each may be a line, or a chart of its own
	add := func(e core.Series) error {
		if sources += len(e.Definition.Sources); sources > maxCharted {
			return exhausted("more than %d data sources are below %.200q: choose a folder below it", maxCharted, prefix)
		}
		x, err := s.charting(e)
		out = append(out, x)
		return err
	}
	below := prefix + "/"
	if prefix == "" {
		below = ""
	} else if ref, err := s.view(ctx).Lookup(prefix); err == nil {
		e, err := s.view(ctx).Series(ref)
		if err != nil {
			return nil, fail(err, "charts of %.200q", prefix)
		}
		if err := add(e); err != nil {
			return nil, err
		}
	} else if !errors.Is(err, core.ErrNotFound) && !errors.Is(err, access.ErrDenied) {
		return nil, fail(err, "charts of %.200q", prefix)
	}
	for e, err := range s.view(ctx).Select(ctx, core.Query{Prefix: below, Order: core.ByPath}) {
		if errors.Is(err, core.ErrDamaged) {
			break // the others have their charts
		}
		if err != nil {
			return nil, fail(err, "charts of %.200q", prefix)
		}
		if err := add(e); err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, connect.NewError(connect.CodeNotFound, errNothingBelow(prefix))
	}
	return out, nil
}

// charting describes a series for its chart.
func (s *Server) charting(e core.Series) (charts.Series, error) {
	x := charts.Series{Path: e.Path}
	for i := range e.Definition.Sources {
		ds := &e.Definition.Sources[i]
		rate := ds.Kind != rra.Gauge && ds.Kind != rra.Compute
		x.Sources = append(x.Sources, charts.Source{Name: ds.Name, Rate: rate})
	}
	for i := range e.Definition.Archives {
		if cf := e.Definition.Archives[i].CF; cf <= rra.Last {
			x.CFs = append(x.CFs, cf.String())
		}
	}
	for _, l := range e.Labels {
		if l.Name == "group" {
			x.Group = l.Value
		}
	}
	m, err := core.MetadataOf(context.Background(), s.Store, e.Path)
	if err != nil && !errors.Is(err, core.ErrDamaged) {
		return x, coded(err)
	}
	for _, a := range m.Attributes {
		switch a.Name {
		case "units":
			x.Unit = a.Value
		case "title":
			x.Title = a.Value
		case "description":
			if x.Title == "" && len(a.Value) <= maxTitle {
				x.Title = a.Value
			}
		}
	}
	return x, nil
}

// maxTitle is how long a description may be, in bytes, to stand in a legend.
const maxTitle = 60

func chartOf(c *charts.Chart) *rondov1.Chart {
	x := &rondov1.Chart{
		Id: c.ID, Title: c.Title, Group: c.Group, Unit: c.Unit, Base: int32(c.Base), Stack: c.Stack, Percent: c.Percent,
		Arg: c.Arguments(),
	}
	if !math.IsNaN(c.Lower) {
		x.Lower = new(c.Lower)
	}
	if !math.IsNaN(c.Upper) {
		x.Upper = new(c.Upper)
	}
	for i := range c.Lines {
		l := &c.Lines[i]
		x.Lines = append(x.Lines, &rondov1.ChartLine{
			Path: l.Path, Ds: l.DS, Label: l.Label, Factor: l.Factor, Offset: l.Offset, Style: l.Style, Color: l.Color,
			Cf: l.CF, MaxCf: l.MaxCF, MinCf: l.MinCF, Restart: l.Restart,
		})
	}
	return x
}
