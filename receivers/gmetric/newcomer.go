package gmetric

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

const (
	newcomerValues = 8192 // values that wait; then they are resolved
	newcomerBytes  = 1 << 20
	maxAsks        = 1 << 16
	newcomerWait   = 50 * time.Millisecond // the longest that some wait for others
)

// newcomers are values that the cache cannot tell what to do with. They wait, in order, until the
// datagrams at hand are read; then the store is asked for the metadata of metrics that are new, and
// for series: one wait instead of one a series.
type newcomers struct {
	values []newcomer
	bytes  int
	begun  bool            // since is set
	since  time.Time       // when the first of them came
	asks   []uint32        // entries whose metadata the store is to be asked for
	byKey  map[uint32]int  // entry → its request
	pause  receivers.Pause // while it lasts all newcomers are shed
	refs   int64           // entries with a series
}

// A newcomer is a value, and where it came from.
type newcomer struct {
	reading
	entry   uint32
	sender  string
	request int // -1: it needs none
}

// A reading is a value as it arrived.
type reading struct {
	word   Word
	number rra.Value // or else
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

func (n *newcomers) add(i uint32, r *reading, sender string) {
	n.values = append(n.values, newcomer{reading: r.clone(), entry: i, sender: sender})
	n.bytes += len(r.text) + 128
}

func (n *newcomers) full() bool { return len(n.values) >= newcomerValues || n.bytes >= newcomerBytes }

func (n *newcomers) reset() {
	clear(n.values)
	n.values, n.bytes, n.begun = n.values[:0], 0, false
	clear(n.byKey)
}

// ask has the store asked for the metadata of entry i.
func (n *newcomers) ask(i uint32) {
	if len(n.asks) < maxAsks {
		n.asks = append(n.asks, i)
	}
}

// read takes the value in m.
func (s *server) read(e *entry, i uint32, m *Message) {
	r := reading{word: m.Word, number: m.Number, text: m.Text, at: s.at}
	switch {
	case !e.is(asked):
		s.news.ask(i)
		s.news.add(i, &r, string(s.sender.host()))
	case !e.is(known) && !e.is(beats):
		s.hold(i, &r, string(s.sender.host()))
	default:
		s.store(e, i, &r)
	}
}

// store takes a value of a metric that is known.
func (s *server) store(e *entry, i uint32, r *reading) {
	switch {
	case e.is(beats):
		s.beat(e, i)
	case e.words(r):
		s.text(e, i, r)
	case e.ref != 0:
		s.add(e, i, r)
	case s.second < e.wait:
		s.Drop(e.why, 1)
	default:
		s.news.add(i, r, string(s.sender.host()))
	}
}

// words reports whether r is to be kept as a text.
func (e *entry) words(r *reading) bool {
	switch {
	case e.typ == String:
		return true
	case e.typ != Unknown || !r.textual():
		return false
	}
	_, kind := scan(r.text)
	return kind == noNumber
}

// add hands r over as a sample.
func (s *server) add(e *entry, i uint32, r *reading) {
	v, err := r.value(e.kind)
	if err != nil {
		s.badValue(i, r, err)
		return
	}
	s.sample[0] = v
	s.queue.Add(e.ref, r.at, s.sample[:])
}

// value returns r for a data source of kind k.
func (r *reading) value(k rra.Kind) (rra.Value, error) {
	if r.textual() {
		return ParseValue(k, r.text)
	}
	return convert(k, r.number)
}

// badValue counts and logs a value that cannot be one of metric i.
func (s *server) badValue(i uint32, r *reading, err error) {
	s.Drop(receivers.ReasonOf(err), 1)
	host, name := s.cache.key(i)
	if ok, held := s.lines.Allow(string(host), s.now); ok {
		s.cfg.Logger.Warn("gmetric: bad value", "host", text(host), "metric", text(name), "value", text(r.text[:min(len(r.text), 64)]),
			"err", err, "held_back_lines", held)
	}
}

// resolve asks the store for what the newcomers lack, and takes their values.
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
			s.settle(e, v.entry, &reqs[v.request])
		}
		if e.ref == 0 {
			s.Drop(e.why, 1)
			continue
		}
		s.add(e, v.entry, &v.reading)
	}
}

// failed counts the newcomers that wait, and makes the next ones be shed for a while.
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

// requests takes the newcomers that need no new series, and makes a request for each of the series
// of the others.
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
			t, err := s.texts.of(ctx, s, v.entry)
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
			t.relabel = false // it is made with these labels
			if step == 0 {
				step = s.set.step
			}
			return t.define(step)
		},
	}
}

// settle writes the outcome of a request into an entry.
func (s *server) settle(e *entry, i uint32, r *receivers.Request) {
	err := r.Err
	if err == nil {
		kind, fits := sourceKind(r.Definition)
		if fits {
			e.ref, e.kind = r.Ref, kind
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
