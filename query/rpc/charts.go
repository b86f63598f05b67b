package rpc

import (
	"cmp"
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
	"github.com/rondo-db/rondo/query/search"
	"github.com/rondo-db/rondo/rra"
)

// Charts returns charts of the series below a prefix.
func (s *Server) Charts(ctx context.Context, m *rondov1.ChartsRequest) (*rondov1.ChartsResponse, error) {
	limit, err := pageSize(m.GetLimit(), defaultCharts, maxCharts)
	if err != nil {
		return nil, err
	}
	from, err := strconv.ParseUint(cmp.Or(m.GetPage(), "0"), 10, 31)
	if err != nil {
		return nil, invalid("page %q is not a next_page of these charts", cut(m.GetPage()))
	}
	all, err := s.assembled(ctx, strings.Trim(m.GetPrefix(), "/"))
	if err != nil {
		return nil, err
	}
	charge := chargeFor(ctx)
	var answer rondov1.ChartsResponse
	for i := int(from); i < len(all); i++ {
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
	return &answer, nil
}

// assembled returns all charts of a host, or of a folder if no host is called so.
func (s *Server) assembled(ctx context.Context, prefix string) ([]charts.Chart, error) {
	var out []charts.Series
	sources := 0 // each may be a line, or a chart of its own
	add := func(e core.Series, folder string) error {
		if sources += len(e.Definition.Sources); sources > maxCharted {
			return exhausted("more than %d data sources are below %.200q: choose a folder below it", maxCharted, prefix)
		}
		x, err := s.charting(e)
		x.Folder = folder
		out = append(out, x)
		return err
	}
	err := s.ofHost(ctx, prefix, add)
	if errors.Is(err, search.ErrHost) {
		err = s.charted(ctx, prefix, func(e core.Series) error { return add(e, "") })
	}
	if err != nil {
		return nil, err
	}
	return charts.Assemble(prefix, out), nil
}

// ofHost calls add with the series of a host, and the folders that are about it.
func (s *Server) ofHost(ctx context.Context, host string, add func(e core.Series, folder string) error) error {
	var refs []core.Ref
	var folders []string
	err := s.names().Members(ctx, host, access.From(ctx).Folders, func(m search.Member) bool {
		refs, folders = append(refs, m.Ref), append(folders, m.Folder)
		return len(refs) <= maxCharted
	})
	if errors.Is(err, search.ErrHost) {
		return err
	}
	if err != nil {
		return coded(err)
	}
	found := make([]core.Series, len(refs)) // what add reads may need a transaction of its own
	err = s.Store.Resolve(ctx, refs, func(i int, e core.Series) bool {
		found[i] = e
		return true
	})
	if err != nil && !errors.Is(err, core.ErrDamaged) {
		return fail(err, "charts of %.200q", host)
	}
	for i, e := range found {
		if e.Definition == nil { // dropped meanwhile
			continue
		}
		if err := add(e, folders[i]); err != nil {
			return err
		}
	}
	return nil
}

// charted calls add with the series at and below a folder.
func (s *Server) charted(ctx context.Context, prefix string, add func(core.Series) error) error {
	found := 0
	below := prefix + "/"
	if prefix == "" {
		below = ""
	} else if ref, err := s.view(ctx).Lookup(prefix); err == nil {
		e, err := s.view(ctx).Series(ref)
		if err != nil {
			return fail(err, "charts of %.200q", prefix)
		}
		found++
		if err := add(e); err != nil {
			return err
		}
	} else if !errors.Is(err, core.ErrNotFound) && !errors.Is(err, access.ErrDenied) {
		return fail(err, "charts of %.200q", prefix)
	}
	for e, err := range s.view(ctx).Select(ctx, core.Query{Prefix: below, Order: core.ByPath}) {
		if errors.Is(err, core.ErrDamaged) {
			break // the others have their charts
		}
		if err != nil {
			return fail(err, "charts of %.200q", prefix)
		}
		found++
		if err := add(e); err != nil {
			return err
		}
	}
	if found == 0 {
		return connect.NewError(connect.CodeNotFound, errNothingBelow(prefix))
	}
	return nil
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
		switch l.Name {
		case "group":
			x.Group = l.Value
		case "__name__":
			x.Metric = l.Value
		}
		x.Labels = append(x.Labels, charts.Label(l))
	}
	m, err := core.MetadataOf(context.Background(), s.Store, e.Path)
	if err != nil && !errors.Is(err, core.ErrDamaged) {
		return x, coded(err)
	}
	x.Unit, x.Title = core.LabelValue(m.Attributes, "units"), core.LabelValue(m.Attributes, "title")
	if text := core.LabelValue(m.Attributes, "description"); x.Title == "" && len(text) <= maxTitle {
		x.Title = text
	}
	return x, nil
}

// unitsOf returns the units of the rows of a series, by data source.
func (s *Server) unitsOf(e core.Series) (units []string, err error) {
	x, err := s.charting(e)
	for _, ds := range x.Sources {
		units = append(units, charts.UnitOf(&x, ds))
	}
	return units, err
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
