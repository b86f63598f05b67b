package gmetric

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

const (
	describeRoom = 4096 // paths that may wait in the queue
	describeMany = 1024 // so many changed paths are handed over before the next tick
	// refreshText is after how many seconds a text that stays the same is stored again, if half of
	// dmax is not less.
	refreshText = 60
)

// same reports whether the store has the metadata md of entry i already, if md is the first since
// the start.
func (s *server) same(e *entry, i uint32, md *metric) bool {
	if e.meta != 0 || !e.is(known) || !e.is(asked) {
		return false
	}
	t, err := s.metadata(i)
	if err != nil || t.lost || !slices.Equal(t.attributes(s.set.remove), md.attributes(s.set.remove)) {
		return false
	}
	if e.Ref != 0 && !t.listed {
		s.texts.drop(i, t)
	}
	return true
}

// setMetric gives a metric new metadata, and reports whether there was room for it.
func (s *server) setMetric(e *entry, i uint32, md metric, sender string) bool {
	t := s.texts.byEntry[i]
	if t == nil {
		if t = s.texts.put(i); t == nil {
			s.Drop(receivers.Overload, 1)
			return false
		}
		e.text = 0 // the next text is stored together with the metadata
	}
	e.typ, e.dmax = ParseType(md.typ), md.dmax
	e.flags = e.flags&^gone | known
	e.meta = 0
	e.Retry = 0 // with the new metadata a series may be possible
	if e.seen == 0 {
		e.seen = s.second
	}
	t.metric, t.sender, t.at, t.relabel, t.lost, t.store = md, sender, s.at, true, false, true
	s.texts.weigh(t)
	s.texts.list(i, t)
	if k, waits := s.news.Index(i); waits {
		s.news.Requests()[k] = s.request(i, t, sender, s.at)
	}
	return true
}

// stored returns the metadata that the store has of entry i. After a failure the store is not asked
// for a while.
func (s *server) stored(i uint32) (core.Metadata, error) {
	if s.asks.Paused() {
		return core.Metadata{}, core.ErrUnavailable
	}
	ctx, cancel := receivers.Asking(context.Background())
	defer cancel()
	host, name := s.cache.Key(i)
	m, err := s.sink.Metadata(ctx, path(host, name))
	if err != nil {
		err = s.asks.Fail(err, nil)
	}
	return m, err
}

// metadata returns the metadata of entry i, which is known, from memory or from the store.
func (s *server) metadata(i uint32) (*described, error) {
	t := &s.texts
	if d := t.byEntry[i]; d != nil {
		return d, nil
	}
	stored, err := s.stored(i)
	if err != nil {
		return nil, err
	}
	d := t.put(i)
	if d == nil {
		d = new(described) // for this call only
	}
	md, ok := parseAttributes(stored.Attributes)
	d.metric, d.lost = md, !ok || stored.Expired
	d.words, d.at = []byte(stored.Text), stored.Time
	if t.byEntry[i] == d {
		t.weigh(d)
	}
	return d, nil
}

// ask asks the store for the metadata of a new entry.
func (s *server) ask(e *entry, i uint32) {
	stored, err := s.stored(i)
	if err != nil {
		e.Why = receivers.FailureReason(err)
		return
	}
	e.flags |= asked
	s.answer(e, i, &stored)
}

// answer takes the metadata that the store has of entry i. Metadata that was sent since the start,
// when the store could not be asked, stays.
func (s *server) answer(e *entry, i uint32, stored *core.Metadata) {
	t := s.texts.byEntry[i]
	if md, ok := parseAttributes(stored.Attributes); ok && !stored.Expired && !e.is(known) {
		if t = s.texts.put(i); t != nil {
			t.metric, t.at = md, stored.Time
			s.texts.weigh(t)
			if !slices.Equal(stored.Attributes, t.attributes(s.set.remove)) {
				t.store = true // another --gmetric-expire
				s.texts.list(i, t)
			}
		}
		e.flags |= known
		e.typ, e.dmax, e.seen = ParseType(md.typ), md.dmax, s.second
	}
	if t != nil && stored.Text != "" {
		t.words = append(t.words[:0], stored.Text...)
		s.texts.weigh(t)
		e.text = maphash.Bytes(s.cache.seed, t.words)
		if age, most := s.now.Unix()-stored.Time.Unix(), int64(e.refresh()); age >= 0 && age < most {
			e.due = s.second + uint32(most-age)
		}
	}
}

// refresh returns after how many seconds a text is stored again although it is the same. The time
// of the text thus shows that it still arrives.
func (e *entry) refresh() uint32 {
	if e.dmax == 0 {
		return refreshText
	}
	return min(refreshText, max(e.dmax/2, 1))
}

// text stores r as the newest text of a metric.
func (s *server) text(e *entry, i uint32, r *reading, sender []byte) {
	words := r.text
	if !r.textual() {
		s.digits = appendNumber(s.digits[:0], r.number)
		words = s.digits
	}
	h := maphash.Bytes(s.cache.seed, words)
	if h == e.text && s.second < e.due {
		return
	}
	if t := s.touch(e, i, r.at, sender); t != nil {
		t.words = append(t.words[:0], words...)
		s.texts.weigh(t)
		e.text = h
	}
}

// beat stores that a host is alive.
func (s *server) beat(e *entry, i uint32, sender []byte) {
	if s.second >= e.due {
		s.touch(e, i, s.at, sender)
	}
}

// touch stores the metadata of entry i again, with the time at. It returns nil if there is no room.
func (s *server) touch(e *entry, i uint32, at rra.Time, sender []byte) *described {
	t, err := s.metadata(i)
	if err != nil {
		s.Drop(receivers.FailureReason(err), 1)
		return nil
	}
	if s.texts.byEntry[i] != t {
		s.Drop(receivers.Overload, 1)
		return nil
	}
	if t.sender == "" {
		t.sender = string(sender)
	}
	if t.lost {
		e.flags &^= known
		e.meta = 0
	}
	t.at, t.store = at, true
	s.texts.list(i, t)
	e.due = s.second + e.refresh()
	return t
}

// expire forgets the metadata of a metric that has been silent for its dmax.
func (s *server) expire(e *entry, i uint32) {
	s.texts.remove(i)
	if s.set.remove && e.Ref != 0 {
		e.Ref = 0 // the store has deleted it, or is about to
		s.refs--
	}
	e.flags = e.flags&^known | asked | gone
	e.meta, e.text, e.dmax, e.due, e.seen = 0, 0, 0, 0, 0
}

// flushTexts hands over the metadata and labels that are to be stored, as far as there is room for
// them; with force all of them.
func (s *server) flushTexts(ctx context.Context, force bool) {
	t := &s.texts
	room, paused := describeRoom-s.queue.Describing(), s.asks.Paused()
	var labels []receivers.Request
	n := 0
	for ; n < len(t.dirty) && (room > 0 && !paused || force); n++ {
		i := t.dirty[n]
		d := t.byEntry[i]
		if d == nil || !d.listed {
			continue // it has expired, and may have come back
		}
		e := s.cache.At(i)
		if !e.is(asked) {
			if s.ask(e, i); !e.is(asked) && !force {
				break
			}
		}
		if d.store {
			s.put(e, i, d)
			room--
		}
		if d.relabel && e.Ref != 0 {
			r := s.request(i, d, d.sender, d.at)
			r.Relabel = true
			labels = append(labels, r)
			d.relabel = false
		}
		d.listed = false
		if e.Ref != 0 {
			t.drop(i, d)
		}
	}
	t.dirty = append(t.dirty[:0], t.dirty[n:]...)
	_ = s.asks.Resolve(ctx, labels) // it is logged
}

// put hands over the metadata of one path.
func (s *server) put(e *entry, i uint32, d *described) {
	d.store = false
	host, name := s.cache.Key(i)
	x := receivers.Description{Sender: d.sender, PathMetadata: core.PathMetadata{
		Path: path(host, name),
		Metadata: core.Metadata{
			Time: d.at, Text: label(d.words), Expire: int64(d.dmax),
		},
	}}
	if e.is(known) {
		x.Attributes = d.attributes(s.set.remove)
	}
	if !s.queue.Describe(x) {
		e.meta, e.text, e.due = 0, 0, 0 // the next metadata and text are handed over again
	}
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

// look takes the metadata that the store has by now of entry i, if it has some.
func (s *server) look(e *entry, i uint32) {
	if e.is(gone) {
		return
	}
	if stored, err := s.stored(i); err == nil {
		s.answer(e, i, &stored)
	}
}
