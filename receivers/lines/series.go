package lines

import (
	"context"
	"errors"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Identify returns what the series of a name is called: lines/NAME.
func Identify(name string) receivers.Identity {
	return receivers.Identity{
		Path:   string(receivers.AppendComponent([]byte("lines/"), name)),
		Labels: []core.Label{{Name: "name", Value: name}},
	}
}

// request asks for the series of a newcomer.
func (s *server) request(n *newcomer) receivers.Request {
	return receivers.Request{
		Identity: Identify(n.name),
		Sender:   n.sender,
		Time:     n.at,
		Define: func(step int64) *rra.Definition {
			if step == 0 {
				step = s.step
			}
			return receivers.StandardDefinition(step)
		},
	}
}

// resolve has the sink find or make the series of the newcomers, and adds their values.
func (s *server) resolve(ctx context.Context) {
	news := s.news
	if len(news) == 0 {
		return
	}
	s.news = s.news[:0]
	if s.pause.Lasts(s.now) {
		s.Drop(receivers.Overload, uint64(len(news)))
		return
	}
	reqs := make([]receivers.Request, len(news))
	for i := range news {
		reqs[i] = s.request(&news[i])
	}
	if err := receivers.Resolve(ctx, s.sink, reqs); err != nil {
		s.pause.Begin(s.cfg.Now())
		s.Drop(receivers.FailureReason(err), uint64(len(news)))
		// at most one a second
		s.cfg.Logger.Error("lines: series not made", "series", len(reqs), "err", err)
		return
	}
	for i := range news {
		x := s.outcome(&reqs[i])
		s.series[news[i].name] = x
		if x.ref == 0 {
			s.Drop(x.why, 1)
			continue
		}
		s.add(x.ref, news[i].at, news[i].value)
	}
}

var errSources = errors.New("the series has more than one value")

// outcome returns what has become of a request.
func (s *server) outcome(r *receivers.Request) series {
	err := r.Err
	if err == nil && readings(r.Definition) != 1 {
		err = errSources
	}
	if err == nil {
		return series{ref: r.Ref}
	}
	why, retry := receivers.Absence(err)
	return series{why: why, retry: s.now.Add(retry)}
}

// readings returns how many values a sample of a series has. One that was there need not have been
// made by this receiver.
func readings(d *rra.Definition) int {
	n := 0
	for i := range d.Sources {
		if d.Sources[i].Kind != rra.Compute {
			n++
		}
	}
	return n
}
