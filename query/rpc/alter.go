package rpc

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// Alter changes the data sources, archives and step of a series, and keeps its history.
func (s *Server) Alter(ctx context.Context, m *rondov1.AlterRequest) (*rondov1.AlterResponse, error) {
	switch {
	case m.GetPath() == "":
		return nil, invalid("no path")
	case m.GetStep() < 0:
		return nil, invalid("step %d is negative", m.GetStep())
	case len(m.GetRra()) > 0 && len(m.GetAddRra())+len(m.GetDropRra()) > 0:
		return nil, invalid("rra names all archives: add_rra and drop_rra do not go with it")
	}
	a := rrdtool.Alteration{
		Step: m.GetStep(), Archives: m.GetRra(), Added: m.GetAddRra(), Sources: m.GetDs(), Without: m.GetDropDs(), Most: maxAltered,
	}
	for _, i := range m.GetDropRra() {
		if i < 0 {
			return nil, invalid("drop_rra %d is negative", i)
		}
		a.Dropped = append(a.Dropped, int64(i))
	}
	for _, r := range m.GetRename() {
		a.Renamed = append(a.Renamed, [2]string{r.GetDs(), r.GetTo()})
	}
	made, err := s.altered(ctx, m.GetPath(), m.GetDryRun(), a.Apply)
	if err != nil {
		return nil, failOr(connect.CodeInvalidArgument, err, "alter %.200q", m.GetPath())
	}
	return &rondov1.AlterResponse{Definition: definitionOf(made.Definition), KnownRows: rrdtool.KnownRows(&made)}, nil
}

// Tune changes the definition and the state of a series as rrdtool's tune does.
func (s *Server) Tune(ctx context.Context, m *rondov1.TuneRequest) (*rondov1.TuneResponse, error) {
	if m.GetPath() == "" {
		return nil, invalid("no path")
	}
	made, err := s.altered(ctx, m.GetPath(), false, func(old core.Copy) (core.Copy, error) { return rrdtool.Tune(old, m.GetArgs(), maxAltered) })
	if err != nil {
		return nil, failOr(connect.CodeInvalidArgument, err, "tune %.200q", m.GetPath())
	}
	return &rondov1.TuneResponse{Definition: definitionOf(made.Definition)}, nil
}

// altered replaces the series of a path by the result of change and returns that. A dry run only
// returns it.
func (s *Server) altered(ctx context.Context, path string, dry bool, change func(core.Copy) (core.Copy, error)) (made core.Copy, err error) {
	account := limit.Of(ctx).Another()
	defer account.Close()
	view := s.view(ctx)
	charged := func(old core.Copy) (core.Copy, error) {
		account.Close() // of the attempt before
		// the copy, the altered one and its record in the log
		if err := account.Charge(3 * 8 * rrdtool.Values(old.Definition)); err != nil {
			return core.Copy{}, err
		}
		var err error
		made, err = change(old)
		return made, err
	}
	if !dry {
		_, err = view.Alter(ctx, path, charged)
		return made, err
	}
	ref, err := view.Lookup(path)
	if err != nil {
		return core.Copy{}, err
	}
	old, err := view.Export(ctx, ref)
	if err != nil {
		return core.Copy{}, err
	}
	return charged(old)
}

// failOr is fail for an error that may be a mistake in the request that no package has a value for:
// it then has the code otherwise.
func failOr(otherwise connect.Code, err error, format string, args ...any) error {
	e := fail(err, format, args...)
	if c, ok := errors.AsType[*connect.Error](e); ok && c.Code() == connect.CodeInternal {
		return connect.NewError(otherwise, c.Unwrap())
	}
	return e
}
