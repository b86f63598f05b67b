package backend

import (
	"context"
	"errors"
	"strconv"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// A served is the store of a server's series for an xport or a graph of this process, which reads
// native files, too. The series can be fetched, and nothing else.
type served struct {
	absent
	ctx    context.Context // of the command: Lookup has none
	client *rpc.Client
	paths  []string // of the series that were looked up, by reference - 1
}

func newServed(ctx context.Context, c *rpc.Client) *served { return &served{ctx: ctx, client: c} }

// Lookup finds a series.
func (s *served) Lookup(path string) (core.Ref, error) {
	a, err := s.client.Info(s.ctx, &rondov1.InfoRequest{Path: path})
	if err != nil {
		return 0, answered(err)
	}
	s.paths = append(s.paths, a.GetSeries().GetPath())
	return core.Ref(len(s.paths)), nil
}

// Table has the server choose the archive.
func (s *served) Table(ref core.Ref, r query.Request) (*query.Table, error) {
	if ref < 1 || int(ref) > len(s.paths) {
		return nil, core.ErrNotFound
	}
	m, err := s.client.Fetch(s.ctx, &rondov1.FetchRequest{
		Path: s.paths[ref-1], Cf: r.CF.String(), Start: strconv.FormatInt(r.Start, 10), End: strconv.FormatInt(r.End, 10), Resolution: r.Resolution,
	})
	if err != nil {
		return nil, answered(err)
	}
	t := &query.Table{Start: m.GetStart(), End: m.GetEnd(), Step: m.GetStep(), Archive: -1}
	columns := m.GetColumns()
	if t.Step < 1 || t.End < t.Start || len(columns) == 0 {
		return nil, errAnswer
	}
	rows := t.Len()
	for _, c := range columns {
		if t.DS = append(t.DS, c.GetDs()); len(c.GetValues()) != rows {
			return nil, errAnswer
		}
	}
	t.Values = make([]float64, 0, rows*len(columns))
	for i := range rows {
		for _, c := range columns {
			t.Values = append(t.Values, c.GetValues()[i])
		}
	}
	return t, nil
}

var errAnswer = errors.New("the server's answer does not fit together")

// answered returns the error of a server's answer as a store returns it.
func answered(err error) error {
	if connect.CodeOf(err) == connect.CodeNotFound {
		return core.ErrNotFound
	}
	if e, ok := errors.AsType[*connect.Error](err); ok { // without its code, a word for programs
		return errors.New(e.Message())
	}
	return err
}
