package gmetric

import (
	"context"
	"errors"
	"time"

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
	if n.pause.Lasts(s.now) {
		s.Drop(receivers.Overload, uint64(len(n.values)))
		return
	}
	ctx, cancel := receivers.Asking(ctx)
	defer cancel()
	err := s.ask(ctx)
	var reqs []receivers.Request
	if err == nil {
		reqs, err = s.requests(ctx)
	}
	if err == nil && len(reqs) > 0 {
		err = s.sink.Resolve(ctx, reqs)
	}
	if err != nil {
		s.failed(err)
		return
	}
	for i := range n.values {
		v := &n.values[i]
		if v.request < 0 {
			continue
		}
		e := &s.cache.entries[v.entry]
		if e.ref == 0 && s.second >= e.wait {
			s.resolved(e, v.entry, &reqs[v.request])
		}
		if e.ref == 0 {
			s.Drop(e.why, 1)
			continue
		}
		s.add(e, v.entry, &v.reading)
	}
}

// failed drops the newcomers that wait because the store has failed, and begins a pause.
func (s *server) failed(err error) {
	s.news.pause.Begin(s.cfg.Now())
	waiting := 0
	for i := range s.news.values {
		if s.news.values[i].request >= 0 {
			waiting++
		}
	}
	s.Drop(receivers.FailureReason(err), uint64(waiting))
	if ok, held := s.lines.Allow("resolve", s.now); ok {
		s.cfg.Logger.Error("gmetric: series not made", "values", waiting, "err", err, "held_back_lines", held)
	}
}

// requests takes the newcomers that need no request after all, and returns requests for the series
// of the others, one for each series.
func (s *server) requests(ctx context.Context) ([]receivers.Request, error) {
	n := &s.news
	if n.byKey == nil {
		n.byKey = make(map[uint32]int)
	}
	var reqs []receivers.Request
	for i := range n.values {
		v := &n.values[i]
		e := &s.cache.entries[v.entry]
		switch {
		case !e.is(known) && !e.is(beats):
			s.hold(v.entry, &v.reading, v.sender)
			v.request = -1
			continue
		case e.ref != 0 || e.is(beats) || e.words(&v.reading) || s.second < e.wait:
			s.store(e, v.entry, &v.reading)
			v.request = -1
			continue
		}
		at, ok := n.byKey[v.entry]
		if !ok {
			t, err := s.metadata(ctx, v.entry)
			if err != nil {
				return nil, err
			}
			if t.lost {
				e.flags &^= known
				e.meta = 0
				s.hold(v.entry, &v.reading, v.sender)
				v.request = -1
				continue
			}
			if _, err := v.value(t.kind()); err != nil {
				s.badValue(v.entry, &v.reading, err)
				v.request = -1
				continue
			}
			at = len(reqs)
			n.byKey[v.entry] = at
			reqs = append(reqs, s.request(v, t))
		}
		v.request = at
	}
	return reqs, nil
}

func (s *server) request(v *newcomer, t *described) receivers.Request {
	host, name := s.cache.key(v.entry)
	return receivers.Request{
		Identity: identify(host, name, &t.metric),
		Sender:   v.sender,
		Time:     v.at,
		Define: func(step int64) *rra.Definition {
			t.relabel = false // the series is made with these labels
			if step == 0 {
				step = s.set.step
			}
			return t.define(step)
		},
	}
}

// resolved writes the outcome of a request into an entry.
func (s *server) resolved(e *entry, i uint32, r *receivers.Request) {
	err := r.Err
	if err == nil {
		if ds, ok := receivers.OnlySource(r.Definition); ok {
			e.ref, e.kind = r.Ref, ds.Kind
			s.news.refs++
			s.texts.settled(i)
			return
		}
		err = errors.New("it has other data sources than one for numbers")
	}
	why, retry := receivers.Absence(err)
	e.why, e.wait = why, s.second+uint32(retry/time.Second)
	if ok, held := s.lines.Allow("refused", s.now); ok {
		s.cfg.Logger.Warn("gmetric: no series for a metric", "series", r.Path, "err", err, "held_back_lines", held)
	}
}
