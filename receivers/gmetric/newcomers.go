package gmetric

import (
	"bytes"
	"cmp"
	"context"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A newcomer is a value of a metric without a series. It waits until the datagrams at hand are read.
type newcomer struct {
	reading
	entry uint32 // number of the cache's entry
}

// A reading is a value as it arrived: a number, or a text if number is unknown.
type reading struct {
	word   Word
	number rra.Value
	text   []byte
	at     rra.Time
}

// textual reports whether the value was sent as a text.
func (r *reading) textual() bool { return r.number.Tag == rra.TagUnknown }

// clone returns a copy that shares no memory with r.
func (r *reading) clone() reading {
	c := *r
	c.text = bytes.Clone(r.text)
	return c
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

// request asks for the series of entry i, which has the metadata t.
func (s *server) request(i uint32, t *described, sender string, at rra.Time) receivers.Request {
	host, name := s.cache.Key(i)
	return receivers.Request{
		Identity: identify(host, name, &t.metric),
		Sender:   sender,
		Time:     at,
		Widen:    true,
		Define: func(step int64) *rra.Definition {
			t.relabel = false // the series is made with these labels
			return t.define(cmp.Or(step, s.set.step))
		},
	}
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
