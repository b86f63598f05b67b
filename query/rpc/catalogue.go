package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
	"github.com/rondo-db/rondo/query/rrd/attime"
	"github.com/rondo-db/rondo/rra"
)

// defaultStep is rrdtool's default step, in seconds.
const defaultStep = 300

// Create makes one series.
func (s *Server) Create(ctx context.Context, m *rondov1.CreateRequest) (*rondov1.CreateResponse, error) {
	if m.GetPath() == "" {
		return nil, invalid("no path")
	}
	d, err := definition(m.GetDefinition())
	if err != nil {
		if m.GetDefinition().GetStep() == 0 {
			err = fmt.Errorf("%w (no step is given: it is %d s)", err, defaultStep)
		}
		return nil, invalid("definition: %w", err)
	}
	start := s.now().Unix() - 10
	if m.GetStart() != "" {
		if start, err = attime.InstantISO(m.GetStart(), s.now()); err != nil {
			return nil, invalid("start: %w", err)
		}
	}
	spec := core.Spec{
		Path:       m.GetPath(),
		Labels:     types.ReadLabels(m.GetLabels()),
		Definition: d,
		Start:      rra.Seconds(start),
		Overwrite:  m.GetOverwrite(),
	}
	if err := mayOverwrite(ctx, spec.Overwrite); err != nil {
		return nil, err
	}
	ref, err := s.view(ctx).Create(ctx, spec)
	if err != nil {
		return nil, coded(err)
	}
	return &rondov1.CreateResponse{Ref: uint64(ref)}, nil
}

func definition(m *rondov1.Definition) (*rra.Definition, error) {
	d, err := rra.ParseDefinition(cmp.Or(m.GetStep(), defaultStep), slices.Concat(m.GetDs(), m.GetRra()))
	if err != nil {
		return nil, err
	}
	// An error here is the caller's mistake; from Create it would look like the server's.
	if _, err := rra.Compile(d); err != nil {
		return nil, err
	}
	return d, nil
}

// Drop removes a series with all its rows.
func (s *Server) Drop(ctx context.Context, req *rondov1.DropRequest) (*rondov1.DropResponse, error) {
	if err := s.view(ctx).Drop(ctx, req.GetPath()); err != nil {
		return nil, coded(err)
	}
	return &rondov1.DropResponse{}, nil
}

// Rename gives a series another path.
func (s *Server) Rename(ctx context.Context, req *rondov1.RenameRequest) (*rondov1.RenameResponse, error) {
	if req.GetTo() == "" {
		return nil, invalid("no path to rename to")
	}
	if err := s.view(ctx).Rename(ctx, req.GetPath(), req.GetTo()); err != nil {
		return nil, coded(err)
	}
	return &rondov1.RenameResponse{}, nil
}

// List returns one page of series, in the order of their paths, or by labels in the order of their
// references, as Select yields them.
func (s *Server) List(ctx context.Context, m *rondov1.ListRequest) (*rondov1.ListResponse, error) {
	limit, err := pageSize(m.GetLimit(), defaultPage, maxPage)
	if err != nil {
		return nil, err
	}
	all, what := core.Query{Prefix: m.GetPrefix(), Order: core.ByPath}, fmt.Sprintf("list %.200q", m.GetPrefix())
	some, after, labels := all, core.Ref(0), len(m.GetMatchers()) > 0
	some.After, some.Page = m.GetPage(), limit+1
	if labels {
		if all, after, err = byLabels(m); err != nil {
			return nil, err
		}
		some, what = all, "list by labels"
	}
	page, more, err := s.page(ctx, some, all, limit, func(e *core.Series) bool { return e.Ref > after && strings.HasPrefix(e.Path, m.GetPrefix()) })
	if err != nil {
		return nil, fail(err, "%s", what)
	}
	charge := chargeFor(ctx)
	var answer rondov1.ListResponse
	definitions := make(map[*rra.Definition]*rondov1.Definition) // most series share one
	for _, e := range page {
		x := seriesOf(e, true)
		if !m.GetBrief() && e.Definition != nil {
			if x.Definition = definitions[e.Definition]; x.Definition == nil {
				x.Definition = definitionOf(e.Definition)
				definitions[e.Definition] = x.Definition
			}
		}
		if err := charge.texts(proto.Size(x)); err != nil {
			return nil, err
		}
		answer.Series = append(answer.Series, x)
	}
	switch last := len(page) - 1; {
	case more && labels:
		answer.NextPage = strconv.FormatUint(uint64(page[last].Ref), 10)
	case more:
		answer.NextPage = page[last].Path
	}
	return &answer, nil
}

// page returns the first series of a query that are wanted, and whether there are more. Damaged
// entries must not hide the others: if the store has met damage, the last page with series is
// followed by one more page, which returns the error. all is the query of all pages.
func (s *Server) page(ctx context.Context, q, all core.Query, limit int, wanted func(e *core.Series) bool) (page []core.Series, more bool, err error) {
	damaged := s.Store.Stats().Damaged > 0
	for e, err := range s.view(ctx).Select(ctx, q) {
		switch {
		case errors.Is(err, core.ErrDamaged):
			damaged = true // it comes last
		case err != nil:
			return nil, false, err
		case !wanted(&e):
		case len(page) == limit:
			return page, true, nil
		default:
			page = append(page, e)
		}
	}
	if len(page) > 0 || !damaged {
		return page, damaged && len(page) > 0, nil
	}
	for _, err := range s.view(ctx).Select(ctx, all) {
		if err != nil {
			return nil, false, err
		}
	}
	return nil, false, nil
}

// pageSize returns how many entries an answer is to have at most: as many as asked for, or as
// usual.
func pageSize(asked int32, usual, most int) (int, error) {
	if asked < 0 {
		return 0, invalid("limit %d is negative", asked)
	}
	return min(cmp.Or(int(asked), usual), most), nil
}

// byLabels returns the query of a List by labels, and the last series of the page before.
func byLabels(m *rondov1.ListRequest) (q core.Query, after core.Ref, err error) {
	q.Order = core.ByRef
	if q.Matchers, err = matchersOf(m.GetMatchers()); err != nil || m.GetPage() == "" {
		return q, 0, err
	}
	n, err := strconv.ParseUint(m.GetPage(), 10, 64)
	if err != nil {
		return q, 0, invalid("page %q is not a next_page of this list", cut(m.GetPage()))
	}
	return q, core.Ref(n), nil
}

func matchersOf(ms []*typesv1.Matcher) ([]core.Matcher, error) {
	if len(ms) > maxMatchers {
		return nil, invalid("%d matchers, at most %d are possible", len(ms), maxMatchers)
	}
	out, err := types.ReadMatchers(ms)
	if err != nil {
		return nil, invalid("%w", err)
	}
	return out, nil
}

// Labels returns the label names in use, or the values of one.
func (s *Server) Labels(ctx context.Context, req *rondov1.LabelsRequest) (*rondov1.LabelsResponse, error) {
	found, err := s.view(ctx).Labels(ctx, core.LabelQuery{Name: req.GetName()})
	if err != nil {
		return nil, fail(err, "labels")
	}
	values := found.Texts
	if len(values) > maxLabelValues {
		return nil, exhausted("%d values of label %.200q, at most %d are given", len(values), req.GetName(), maxLabelValues)
	}
	charge := chargeFor(ctx)
	for _, v := range values {
		if err := charge.texts(len(v)); err != nil {
			return nil, err
		}
	}
	return &rondov1.LabelsResponse{Values: values}, nil
}

func seriesOf(e core.Series, brief bool) *rondov1.Series {
	m := &rondov1.Series{Ref: uint64(e.Ref), Path: e.Path, Labels: types.SentLabels(e.Labels)}
	if !brief && e.Definition != nil {
		m.Definition = definitionOf(e.Definition)
	}
	return m
}

func definitionOf(d *rra.Definition) *rondov1.Definition {
	m := &rondov1.Definition{Step: d.Step}
	for i := range d.Sources {
		m.Ds = append(m.Ds, d.Sources[i].String())
	}
	for i := range d.Archives {
		m.Rra = append(m.Rra, d.Archives[i].String())
	}
	return m
}
