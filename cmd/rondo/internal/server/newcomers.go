package server

import (
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
	errs := make([]error, len(list))
	var reqs []receivers.Request
	var at []int // of reqs in list
	for i := range list {
		n := &list[i]
		r := receivers.Request{
			Identity: receivers.Identity{Path: n.Path, Labels: n.Labels}, Sender: sockets.ClientOf(n.Sender), Time: n.Time, Untyped: len(n.DS) == 0,
		}
		d, err := s.defineNewcomer(r, n)
		if err != nil {
			errs[i] = err
			continue
		}
		r.Define = func(int64) *rra.Definition { return d }
		reqs, at = append(reqs, r), append(at, i)
	}
	if len(reqs) == 0 {
		return errs, nil
	}
	if err := s.receivers.sink.Resolve(ctx, reqs); err != nil {
		return nil, err
	}
	for k, i := range at {
		errs[i] = reqs[k].Err
	}
	return errs, nil
}

// defineNewcomer returns the definition of a series that a Write asks for, with the policy applied.
func (s *server) defineNewcomer(r receivers.Request, n *rpc.Newcomer) (*rra.Definition, error) {
	var wrong error
	r.Define = func(step int64) *rra.Definition {
		if step == 0 {
			step = n.Step
		}
		if step == 0 {
			step = newcomerStep
		}
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
