package collectd

import (
	"context"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// newcomerBytes is how much memory a list that waits takes beside its bytes, about.
const newcomerBytes = 128

// newcomer keeps a copy of a list until its series is resolved.
func (s *server) newcomer(v *ValueList) {
	l := v.Clone()
	l.changed = ofFirst | ofAll // it is looked up later, after another list than now
	s.cache.sum(v)
	key := string(s.cache.key)
	i, asked := s.news.Index(key)
	if !asked {
		i = s.news.Ask(key, s.request(&l))
	}
	s.news.Wait(i, l, len(l.Raw)+newcomerBytes, s.now)
}

// resolve makes the sink find or make the series of the newcomers, keeps the references in the
// cache, and adds the samples.
func (s *server) resolve(ctx context.Context) {
	_ = s.news.Resolve(ctx, s.asks) // it is logged, and Replay counts what it costs
	s.news.Replay(&s.Counters, func(v *ValueList, _ int, r *receivers.Request) {
		e := s.cache.find(v)
		if e == nil {
			e = s.cache.add(v)
		}
		e.Series = r.Series(s.tick)
		if e.Ref != 0 {
			s.add(e.Ref, v)
		}
	})
}

func (s *server) request(v *ValueList) receivers.Request {
	return receivers.Request{
		Identity: Identify(&v.Names),
		Sender:   receivers.Text(v.Host),
		Time:     rra.Seconds(v.Time.Seconds()),
		Define: func(step int64) *rra.Definition {
			return s.set.types.Define(string(v.Type), v.Kinds, v.Interval, step)
		},
		Fits: func(d *rra.Definition) bool { return fits(d, v.Kinds) },
	}
}
