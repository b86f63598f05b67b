package collectd

import (
	"context"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// resolve makes the sink find or make the series of the newcomers, keeps the references in the
// cache, and adds the samples.
func (s *server) resolve(ctx context.Context) {
	n := &s.news
	if len(n.lists) == 0 {
		return
	}
	defer n.reset()
	if n.pause.Lasts(s.now) {
		s.Counters.Drop(receivers.Overload, uint64(len(n.lists)))
		return
	}
	reqs := s.requests()
	if err := receivers.Resolve(ctx, s.sink, reqs); err != nil {
		n.pause.Begin(s.cfg.Now())
		s.Counters.Drop(receivers.FailureReason(err), uint64(len(n.lists)))
		if ok, held := s.lines.Allow("resolve", s.now); ok {
			s.cfg.Logger.Error("collectd: series not made", "series", len(reqs), "err", err, "held_back_lines", held)
		}
		return
	}
	for i := range n.lists {
		l := &n.lists[i]
		e := s.cache.find(&l.ValueList)
		if e == nil {
			e = s.cache.add(&l.ValueList)
		}
		if e.ref == 0 {
			s.resolved(e, &reqs[l.request], l.Kinds)
		}
		if e.ref == 0 {
			s.Drop(e.why)
			continue
		}
		s.add(e.ref, &l.ValueList)
	}
}

// requests returns one request for each key of the newcomers.
func (s *server) requests() []receivers.Request {
	n := &s.news
	if n.byKey == nil {
		n.byKey = make(map[string]int)
	}
	var reqs []receivers.Request
	var key []byte
	for i := range n.lists {
		l := &n.lists[i]
		key = appendKey(key[:0], &l.ValueList)
		at, ok := n.byKey[string(key)]
		if !ok {
			at = len(reqs)
			n.byKey[string(key)] = at
			reqs = append(reqs, s.request(&l.ValueList))
		}
		l.request = at
	}
	return reqs
}

func appendKey(dst []byte, v *ValueList) []byte {
	for _, p := range [...][]byte{v.Host, v.Plugin, v.PluginInstance, v.Type, v.TypeInstance, v.Kinds} {
		dst = append(append(dst, byte(len(p)), byte(len(p)>>8)), p...)
	}
	return dst
}

func (s *server) request(v *ValueList) receivers.Request {
	return receivers.Request{
		Identity: Identify(v),
		Sender:   receivers.Text(v.Host),
		Time:     rra.Seconds(v.Time.Seconds()),
		Define: func(step int64) *rra.Definition {
			return s.set.types.Define(string(v.Type), v.Kinds, v.Interval, step)
		},
	}
}

// resolved writes the outcome of a request into an entry.
func (s *server) resolved(e *entry, r *receivers.Request, kinds []byte) {
	err := r.Err
	if err == nil && fits(r.Definition, kinds) {
		e.ref = r.Ref
		return
	}
	why, retry := receivers.Absence(err)
	e.why, e.retry = why, s.second+uint32(retry/time.Second)
	if err == nil {
		if ok, held := s.lines.Allow("fit", s.now); ok {
			s.cfg.Logger.Warn("collectd: values do not fit their series", "series", r.Path, "held_back_lines", held)
		}
		return
	}
	if ok, held := s.lines.Allow("refused", s.now); ok {
		s.cfg.Logger.Warn("collectd: series not made", "series", r.Path, "err", err, "held_back_lines", held)
	}
}
