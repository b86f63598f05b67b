package rrdd

import (
	"context"

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
		if e.Ref != 0 && e.describe { // the description was shed
			s.describe(p, i, Identify(p.name, &p.adopted[i]).Path)
		}
		if e.Due(s.tick) && (!s.set.onlyDefault || p.adopted[i].Default) {
			reqs, of = append(reqs, s.request(p, i, at)), append(of, i)
		}
	}
	if len(reqs) == 0 {
		return
	}
	paused := s.asks.Paused() // because of another file
	if err := s.asks.Resolve(ctx, reqs); err != nil && !paused {
		s.slow = p.name // so the other files do not wait as long
	}
	for k, i := range of {
		e := &p.series[i]
		e.Series = reqs[k].Series(s.tick)
		if e.Ref != 0 && e.describe {
			s.describe(p, i, reqs[k].Path)
		}
	}
}

func (s *server) request(p *plugin, i int, at rra.Time) receivers.Request {
	source := p.adopted[i]
	kind := source.kind(p.legacy)
	return receivers.Request{
		Identity: Identify(p.name, &source),
		Sender:   sender(p),
		Time:     at,
		Define:   func(step int64) *rra.Definition { return source.Define(kind, step) },
		Fits:     func(d *rra.Definition) bool { return source.fits(d, kind, s.set.types == Auto) },
		Relabel:  true, Widen: true,
	}
}

// sender returns the sender whose allowance the series of p count against.
func sender(p *plugin) string { return "rrdd/" + p.name }

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
