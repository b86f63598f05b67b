package gmetric

import (
	"context"

	"github.com/rondo-db/rondo/receivers"
)

// A newcomer is a value of a metric without a series. It waits until the datagrams at hand are
// read.
type newcomer struct {
	reading
	entry uint32 // number of the cache's entry
}

// newcomerBytes is how much memory a value that waits takes beside its text, about.
const newcomerBytes = 128

// newcomer keeps a value of entry i, whose metadata is known, until its series is resolved.
func (s *server) newcomer(e *entry, i uint32, r *reading, sender []byte) {
	k, asked := s.news.Index(i)
	if !asked {
		t, err := s.metadata(i)
		if err != nil {
			s.Drop(receivers.FailureReason(err), 1)
			return
		}
		if t.lost {
			e.flags &^= known
			e.meta = 0
			s.hold(i, r, string(sender))
			return
		}
		if _, err := r.value(t.kind()); err != nil {
			s.badValue(i, r, err)
			return
		}
		k = s.news.Ask(i, s.request(i, t, string(sender), r.at))
	}
	s.news.Wait(k, newcomer{r.clone(), i}, len(r.text)+newcomerBytes, s.now)
}

// resolve asks the store for the series of the newcomers, and takes their values.
func (s *server) resolve(ctx context.Context) {
	_ = s.news.Resolve(ctx, s.asks) // it is logged, and Replay counts what it costs
	s.news.Replay(&s.Counters, func(v *newcomer, _ int, r *receivers.Request) {
		e := s.cache.At(v.entry)
		if e.Ref == 0 {
			if e.Series = r.Series(s.second); e.Ref == 0 {
				return
			}
			s.refs++
			s.texts.settled(v.entry)
		}
		s.add(e, v.entry, &v.reading)
	})
}
