package rpc

import (
	"cmp"
	"context"
	"errors"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/dashboards"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// Dashboards returns the names and titles of the saved dashboards that the user may see.
func (s *Server) Dashboards(ctx context.Context, req *rondov1.DashboardsRequest) (*rondov1.DashboardsResponse, error) {
	if s.Pages == nil {
		return s.UnimplementedRondoHandler.Dashboards(ctx, req)
	}
	entries, err := s.Pages.ListFor(access.From(ctx))
	if err != nil {
		return nil, fail(err, "list dashboards")
	}
	charge := chargeFor(ctx)
	answer := &rondov1.DashboardsResponse{MaySave: s.maySave(ctx) == nil}
	for _, e := range entries {
		if err := charge.texts(len(e.Name) + len(e.Title)); err != nil {
			return nil, err
		}
		answer.Dashboards = append(answer.Dashboards, &rondov1.DashboardEntry{Name: e.Name, Title: e.Title})
	}
	return answer, nil
}

// Dashboard returns one saved dashboard, with the graphs that the user may see.
func (s *Server) Dashboard(ctx context.Context, req *rondov1.DashboardRequest) (*rondov1.DashboardResponse, error) {
	if s.Pages == nil {
		return s.UnimplementedRondoHandler.Dashboard(ctx, req)
	}
	name := req.GetName()
	text, page, err := s.Pages.ReadFor(access.From(ctx), name)
	parse, mistake := errors.AsType[*dashboards.ParseError](err)
	if err != nil && !mistake {
		return nil, dashboardError(name, err)
	}
	charge := chargeFor(ctx)
	if err := charge.texts(2 * len(text)); err != nil {
		return nil, err
	}
	answer := &rondov1.DashboardResponse{Name: name, Text: text}
	if mistake {
		answer.Problem = bounded(parse).Error()
		return answer, nil
	}
	answer.Title = page.Title
	for _, g := range page.Graphs {
		answer.Graphs = append(answer.Graphs, &rondov1.DashboardGraph{Title: g.Title, Arg: g.Args, Line: int32(g.Line)})
	}
	return answer, nil
}

// SaveDashboard saves a dashboard. It is refused unless MaySave is set.
func (s *Server) SaveDashboard(ctx context.Context, req *rondov1.SaveDashboardRequest) (*rondov1.SaveDashboardResponse, error) {
	if s.Pages == nil {
		return s.UnimplementedRondoHandler.SaveDashboard(ctx, req)
	}
	if err := s.maySave(ctx); err != nil {
		return nil, err
	}
	if err := s.Pages.Save(ctx, req.GetName(), req.GetText()); err != nil {
		return nil, dashboardError(req.GetName(), err)
	}
	return &rondov1.SaveDashboardResponse{}, nil
}

// DropDashboard removes a saved dashboard. It is refused unless MaySave is set.
func (s *Server) DropDashboard(ctx context.Context, req *rondov1.DropDashboardRequest) (*rondov1.DropDashboardResponse, error) {
	if s.Pages == nil {
		return s.UnimplementedRondoHandler.DropDashboard(ctx, req)
	}
	if err := s.maySave(ctx); err != nil {
		return nil, err
	}
	if err := s.Pages.Drop(ctx, req.GetName()); err != nil {
		return nil, dashboardError(req.GetName(), err)
	}
	return &rondov1.DropDashboardResponse{}, nil
}

// maySave returns why the user of a request may not change dashboards; nil: it may.
func (s *Server) maySave(ctx context.Context) error {
	u := access.From(ctx)
	if err := cmp.Or(u.Need(access.Write), u.NeedAll()); err != nil {
		return fail(err, "change dashboards")
	}
	if s.MaySave || u.Name != "" {
		return nil
	}
	return connect.NewError(connect.CodePermissionDenied, errors.New("dashboards are changed on the machine itself: the HTTP port can be reached from other machines"))
}

func dashboardError(name string, err error) error {
	var parse *dashboards.ParseError
	switch {
	case errors.Is(err, dashboards.ErrNotFound):
		return connect.NewError(connect.CodeNotFound, bounded(errors.New("there is no dashboard "+cut(name))))
	case errors.Is(err, dashboards.ErrName), errors.As(err, &parse):
		return connect.NewError(connect.CodeInvalidArgument, bounded(err))
	case errors.Is(err, dashboards.ErrFull):
		return connect.NewError(connect.CodeResourceExhausted, err)
	case errors.Is(err, dashboards.ErrFile):
		return connect.NewError(connect.CodeFailedPrecondition, err)
	}
	return fail(err, "dashboard %.200q", name)
}
