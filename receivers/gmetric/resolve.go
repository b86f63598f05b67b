package gmetric

import (
	"context"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// resolve asks the store for the metadata and the series of the newcomers, and takes their values.
func (s *server) resolve(ctx context.Context) {
	n := &s.news
	if len(n.values) == 0 && len(n.asks) == 0 {
		return
	}
	defer n.reset()
	if s.asks.Paused() {
		s.Drop(receivers.Overload, uint64(len(n.values)))
		return
	}
	ctx, cancel := receivers.Asking(ctx)
	defer cancel()
	err := s.ask(ctx)
	done := 0
	for err == nil && done < len(n.values) {
		if err = s.settle(ctx, &n.values[done]); err == nil {
			done++
		}
	}
	if err != nil {
		err = s.asks.Fail(err, n.series.Requests())
		s.Drop(receivers.FailureReason(err), uint64(len(n.values)-done))
	} else if n.series.Len() > 0 {
		_ = s.asks.Ask(ctx, n.series.Requests()) // it is logged, and Replay counts what it costs
	}
	n.series.Replay(&s.Counters, func(v *newcomer, _ int, r *receivers.Request) {
		e := s.cache.At(v.entry)
		if e.Ref == 0 {
			if e.Series = r.Series(s.second); e.Ref == 0 {
				return
			}
			n.refs++
			s.texts.settled(v.entry)
		}
		s.add(e, v.entry, &v.reading)
	})
}

// settle takes a newcomer if it needs no request after all. Otherwise it keeps it until its series
// is resolved.
func (s *server) settle(ctx context.Context, v *newcomer) error {
	e := s.cache.At(v.entry)
	switch {
	case !e.is(known) && !e.is(beats):
		s.hold(v.entry, &v.reading, v.sender)
		return nil
	case e.is(beats) || e.words(&v.reading) || !e.Due(s.second):
		s.store(e, v.entry, &v.reading)
		return nil
	}
	i, asked := s.news.series.Index(v.entry)
	if !asked {
		t, err := s.metadata(ctx, v.entry)
		if err != nil {
			return err
		}
		if t.lost {
			e.flags &^= known
			e.meta = 0
			s.hold(v.entry, &v.reading, v.sender)
			return nil
		}
		if _, err := v.value(t.kind()); err != nil {
			s.badValue(v.entry, &v.reading, err)
			return nil
		}
		i = s.news.series.Ask(v.entry, s.request(v, t))
	}
	s.news.series.Wait(i, *v, 0, s.now)
	return nil
}

func (s *server) request(v *newcomer, t *described) receivers.Request {
	host, name := s.cache.Key(v.entry)
	return receivers.Request{
		Identity: identify(host, name, &t.metric),
		Sender:   v.sender,
		Time:     v.at,
		Widen:    true,
		Define: func(step int64) *rra.Definition {
			t.relabel = false // the series is made with these labels
			if step == 0 {
				step = s.set.step
			}
			return t.define(step)
		},
	}
}
