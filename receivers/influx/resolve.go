package influx

import (
	"context"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A fieldKey names a field by the number of its entry. In another generation of the cache the
// number is another field's.
type fieldKey struct {
	generation uint64
	field      uint32
}

// A newcomer is a value of a field without a series.
type newcomer struct {
	fieldKey
	at    rra.Time
	value rra.Value
}

// newcomer keeps a value of the line until the series of a field is resolved. r.mu is held.
func (r *reader) newcomer(field uint32, v rra.Value) {
	key := fieldKey{r.generation, field}
	i, asked := r.news.Index(key)
	if !asked {
		i = r.news.Ask(key, r.request(field))
	}
	r.news.Wait(i, newcomer{key, r.line.Time, v}, 0, r.now)
}

// resolve makes the sink find or make the series of the newcomers, and takes their values. The
// error says that the sink has failed.
func (r *reader) resolve(ctx context.Context) error {
	if r.news.Len() == 0 {
		return nil
	}
	err := r.news.Resolve(ctx, r.asks)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.news.Replay(&r.Counters, func(v *newcomer, _ int, q *receivers.Request) {
		x := q.Series(r.tick)
		if v.generation == r.generation { // the cache was not emptied meanwhile
			*r.cache.fields.At(v.field) = x
		}
		if x.Ref == 0 {
			r.bad(q.Err, 1)
			return
		}
		r.add(x.Ref, x.Kind, v.at, v.value)
	})
	return err
}

// request returns the request for the series of a field that has a value in the line. r.mu is held.
func (r *reader) request(field uint32) receivers.Request {
	database, sent, name := r.cache.sent(field)
	key, _ := ParseKey(sent) // take has looked
	sender := r.src.sender
	for _, t := range key.Tags {
		if t.Name == "host" {
			sender = receivers.LabelText(t.Value)
		}
	}
	key.With("db", string(database))
	return receivers.Request{
		Identity: Identify(key, unescape(name)),
		Sender:   sender,
		Time:     r.line.Time,
		Untyped:  true,
		Define:   r.define,
		Learn:    r.step == 0,
		Group:    prefix + "/" + key.Measurement,
	}
}
