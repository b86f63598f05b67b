package influx

import (
	"context"
	"errors"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

var errSources = errors.New("the series has more than one value")

// resolve makes the sink find or make the series of the newcomers, and takes their values. The
// error says that the sink has failed.
func (r *reader) resolve(ctx context.Context) error {
	n := &r.news
	if len(n.values) == 0 {
		return nil
	}
	defer n.reset()
	if !r.requests() {
		r.Drop(receivers.Overload, uint64(len(n.values)))
		return errBusy
	}
	if err := receivers.Resolve(ctx, r.sink, n.reqs); err != nil {
		r.mu.Lock()
		r.pause.Begin(r.cfg.Now())
		r.mu.Unlock()
		r.Drop(receivers.FailureReason(err), uint64(len(n.values)))
		if ok, held := r.lines.Allow("resolve", r.now); ok {
			r.cfg.Logger.Error("influx: series not made", "series", len(n.reqs), "err", err, "held_back_lines", held)
		}
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range n.reqs {
		r.resolved(i)
	}
	for i := range n.values {
		v := &n.values[i]
		q := &n.reqs[v.request]
		if q.Err != nil {
			why, _ := receivers.Absence(q.Err)
			r.Drop(why, 1)
			r.bad(q.Err, 1)
			continue
		}
		ds, _ := receivers.OnlySource(q.Definition) // resolved has looked
		r.add(q.Ref, ds.Kind, v.at, v.value)
	}
	return nil
}

// requests fills in one request for each series of the newcomers. It returns false if the sink is
// not to be asked now.
func (r *reader) requests() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := &r.news
	if r.pause.Lasts(r.now) || n.generation != r.generation { // the cache was emptied meanwhile
		return false
	}
	if n.byField == nil {
		n.byField = make(map[uint32]int)
	}
	for i := range n.values {
		v := &n.values[i]
		at, ok := n.byField[v.field]
		if !ok {
			at = len(n.reqs)
			n.byField[v.field] = at
			n.reqs, n.fields = append(n.reqs, r.request(v)), append(n.fields, v.field)
		}
		v.request = at
	}
	return true
}

// request returns the request for the series of a newcomer. r.mu is held.
func (r *reader) request(v *newcomer) receivers.Request {
	e := &r.cache.fields[v.field]
	k := &r.cache.keys[e.key]
	b := r.cache.bytes.At(k.place)
	key, _ := ParseKey(b[k.database:][:k.key]) // take has looked
	sender := v.sender
	for _, t := range key.Tags {
		if t.Name == "host" {
			sender = receivers.LabelText(t.Value)
		}
	}
	key.With("db", receivers.Text(b[:k.database]))
	return receivers.Request{
		Identity: Identify(key, unescape(r.cache.bytes.At(e.place)[:e.name])),
		Sender:   sender,
		Time:     v.at,
		Untyped:  true,
		Define: func(step int64) *rra.Definition {
			if step == 0 {
				step = r.step
			}
			return receivers.StandardDefinition(step)
		},
	}
}

// resolved writes the outcome of request i into the cache. r.mu is held.
func (r *reader) resolved(i int) {
	q := &r.news.reqs[i]
	kind := rra.Gauge
	if q.Err == nil {
		ds, ok := receivers.OnlySource(q.Definition)
		if kind = ds.Kind; !ok {
			q.Err = errSources
		}
	}
	if q.Err != nil && !errors.Is(q.Err, core.ErrSeriesLimit) && !errors.Is(q.Err, receivers.ErrSenderLimit) {
		if ok, held := r.lines.Allow("refused", r.now); ok {
			r.cfg.Logger.Warn("influx: no series for a field", "series", q.Path, "err", q.Err, "held_back_lines", held)
		}
	}
	if r.news.generation != r.generation {
		return // the cache was emptied meanwhile
	}
	e := &r.cache.fields[r.news.fields[i]]
	if q.Err == nil {
		e.ref, e.kind = q.Ref, kind
		return
	}
	why, retry := receivers.Absence(q.Err)
	e.why, e.retry = why, r.tick+uint32(retry/time.Second)
}
