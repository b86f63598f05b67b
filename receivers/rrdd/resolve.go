package rrdd

import (
	"context"
	"errors"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// resolve has the sink resolve the series of p that have no reference.
func (s *server) resolve(ctx context.Context, p *plugin, at rra.Time) {
	var reqs []receivers.Request
	var of []int // of[i] is the index in p.series of reqs[i]
	for i := range p.series {
		e := &p.series[i]
		if e.ref != 0 && e.describe { // the description was shed
			s.describe(p, i, Identify(p.name, &p.adopted[i]).Path)
		}
		if e.ref != 0 || s.now.Before(e.retry) || s.set.onlyDefault && !p.adopted[i].Default {
			continue
		}
		e.why = receivers.Overload // unless the sink is asked
		if !s.pause {
			reqs, of = append(reqs, s.request(p, i, at)), append(of, i)
		}
	}
	if len(reqs) == 0 {
		return
	}
	err := receivers.Resolve(ctx, s.sink, reqs)
	if err != nil {
		s.pause, s.slow = true, p.name // so the other files of this turn do not wait as long
		s.log(p.name, "rrdd: series not made", err)
	}
	for i := range reqs {
		e := &p.series[of[i]]
		if err != nil {
			e.why = receivers.FailureReason(err)
			continue
		}
		s.resolved(p, of[i], &reqs[i])
		if e.ref != 0 && e.describe {
			s.describe(p, of[i], reqs[i].Path)
		}
	}
}

func (s *server) request(p *plugin, i int, at rra.Time) receivers.Request {
	source := &p.adopted[i]
	kind := source.kind(p.legacy)
	return receivers.Request{
		Identity: Identify(p.name, source),
		Sender:   sender(p),
		Time:     at,
		Define:   func(step int64) *rra.Definition { return source.Define(kind, step) },
		Relabel:  true,
	}
}

// sender returns the sender whose allowance the series of p count against.
func sender(p *plugin) string { return "rrdd/" + p.name }

// resolved writes the outcome of the request for data source i into its series.
func (s *server) resolved(p *plugin, i int, r *receivers.Request) {
	e, source := &p.series[i], &p.adopted[i]
	err := r.Err
	if err == nil && !source.fits(r.Definition, source.kind(p.legacy), s.set.types == Auto) {
		err = errors.New("state: the type of " + r.Path + " is not that of its series")
	}
	if err == nil {
		e.ref = r.Ref
		return
	}
	why, retry := receivers.Absence(err)
	e.why, e.retry = why, s.now.Add(retry)
	s.log(p.name, "rrdd: series not made", err)
}

// describe hands over the attributes of a series. If they are shed, it is called again next time.
func (s *server) describe(p *plugin, i int, path string) {
	m := core.Metadata{Attributes: p.adopted[i].attributes()}
	if len(m.Attributes) > 0 { // otherwise stored attributes are removed
		m.Time = rra.TimeOf(s.now)
	}
	p.series[i].describe = !s.queue.Describe(receivers.Description{
		PathMetadata: core.PathMetadata{Path: path, Metadata: m},
		Sender:       sender(p),
	})
}
