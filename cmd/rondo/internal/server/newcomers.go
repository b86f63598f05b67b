package server

import (
	"cmp"
	"context"
	"fmt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// newcomerStep is the step of a series that a Write makes, in seconds, where neither the policy nor
// the request says one: the step of rrdtool's create.
const newcomerStep = 300

// makeNewcomers makes the series that a Write asks for, as the policy says.
func (s *server) makeNewcomers(ctx context.Context, list []rpc.Newcomer) ([]error, error) {
	return s.resolve(ctx, len(list), func(i int) (receivers.Request, error) {
		n := &list[i]
		r := receivers.Request{
			Identity: receivers.Identity{Path: n.Path, Labels: n.Labels}, Sender: sockets.ClientOf(n.Sender), Time: n.Time, Untyped: len(n.DS) == 0,
		}
		d, err := s.defineNewcomer(r, n)
		r.Define = func(int64) *rra.Definition { return d }
		return r, err
	})
}

// resolve makes n series by their requests, and returns the error of each.
func (s *server) resolve(ctx context.Context, n int, request func(i int) (receivers.Request, error)) (errs []error, err error) {
	errs = make([]error, n)
	var reqs []receivers.Request
	var at []int // of reqs in errs
	for i := range n {
		r, err := request(i)
		if errs[i] = err; err == nil {
			reqs, at = append(reqs, r), append(at, i)
		}
	}
	if len(reqs) > 0 {
		err = s.receivers.sink.Resolve(ctx, reqs)
	}
	for k, i := range at {
		errs[i] = cmp.Or(err, reqs[k].Err)
	}
	return errs, err
}

// defineNewcomer returns the definition of a series that a Write asks for, with the policy applied.
func (s *server) defineNewcomer(r receivers.Request, n *rpc.Newcomer) (*rra.Definition, error) {
	var wrong error
	r.Define = func(step int64) *rra.Definition {
		step = cmp.Or(step, n.Step, newcomerStep)
		d, err := definitionOf(n, step)
		if wrong = err; err != nil {
			return receivers.StandardDefinition(step)
		}
		return d
	}
	d, err := s.receivers.sink.Policy().DefineRequest(&r)
	switch {
	case err != nil:
		return nil, err
	case wrong != nil:
		return nil, wrong
	case readings(d.Sources) != n.Values:
		return nil, fmt.Errorf("%w: %d, and the new series has %d data sources", core.ErrShape, n.Values, readings(d.Sources))
	}
	return d, nil
}

// definitionOf returns the definition of a series without the policy's part.
func definitionOf(n *rpc.Newcomer, step int64) (*rra.Definition, error) {
	ds, archives := n.DS, n.RRAs
	for i := 0; len(n.DS) == 0 && i < n.Values; i++ {
		name := "value"
		if n.Values > 1 {
			name += fmt.Sprint(i)
		}
		ds = append(ds, fmt.Sprintf("DS:%s:GAUGE:%d:U:U", name, 2*step))
	}
	if len(archives) == 0 {
		archives = []string{"RRA:AVERAGE:0.5:1:1"} // in place of those below
	}
	d, err := rra.ParseDefinition(step, append(append([]string(nil), ds...), archives...))
	if err == nil && len(n.RRAs) == 0 {
		d.Archives = receivers.StandardArchives(step)
	}
	return d, err
}
