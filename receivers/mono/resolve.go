package mono

import (
	"cmp"
	"errors"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/pathname"
	"github.com/rondo-db/rondo/rra"
)

// fewTexts is how many descriptions may wait in the queue before an agent waits with its own, so
// that others find room.
const fewTexts = 4096

// refresh forgets all references if the sink has refused one.
func (a *agent) refresh() {
	gen := a.Queue.Generation()
	if gen == a.gen {
		return
	}
	a.gen = gen
	for i := range a.series {
		a.forgetSeries(i)
	}
}

// resolve makes the sink find or make the series of those counters at the positions which that have
// a value and no reference, all with one request.
func (a *agent) resolve(at rra.Time, which []int) {
	rs, tick := a.dec.Readings(), a.s.Asks.Tick(a.now)
	var reqs []receivers.Request
	var positions []int
	for _, i := range which {
		if rs[i].Known && a.series[i].Due(tick) {
			reqs, positions = append(reqs, a.request(&rs[i].Counter, at)), append(positions, i)
		}
	}
	if len(reqs) == 0 {
		return
	}
	_ = a.s.Asks.Resolve(a.ctx, reqs) // it is logged, and add counts what it costs
	taken := make(map[core.Ref]bool)
	for i := range a.series {
		taken[a.series[i].Ref] = true
	}
	for k, i := range positions {
		q := &reqs[k]
		if q.Err == nil && taken[q.Ref] { // no two counters go into one series
			q.Err = errTwice
			a.log("twice", "two counters have one name", "series", q.Path)
		}
		a.series[i] = q.Series(tick)
		if q.Err == nil {
			taken[q.Ref] = true
			a.s.Series.Add(1)
			a.new = append(a.new, i)
		}
	}
}

var errTwice = errors.New("two counters have one name")

func (a *agent) request(c *Counter, at rra.Time) receivers.Request {
	kept := *c
	return receivers.Request{
		Identity: Identify(a.Peer, c), Sender: a.Host, Time: at, Relabel: true, Widen: true,
		Define: func(step int64) *rra.Definition { return Define(&kept, cmp.Or(step, a.s.set.step)) },
		Fits:   func(d *rra.Definition) bool { return fits(d, &kept) },
	}
}

// describe stores the metadata of new series, as far as there is room for it now.
func (a *agent) describe(q *receivers.Queue) {
	for len(a.new) > 0 && q.Describing() < fewTexts {
		i := a.new[len(a.new)-1]
		a.new = a.new[:len(a.new)-1]
		r := &a.dec.Readings()[i]
		if r.Removed {
			continue
		}
		d := describe(Identify(a.Peer, &r.Counter).Path, a.Host, &r.Counter, rra.Time(a.now.UnixMicro()))
		// An agent that connects again announces the same, which need not be written again.
		m, err := a.s.Sink.Metadata(a.ctx, d.Path)
		if err == nil && m.Text == "" && slices.Equal(m.Attributes, d.Attributes) {
			continue
		}
		q.Describe(d)
	}
}

// defaultHeartbeat is the heartbeat of a series in seconds. The protocol does not carry the
// interval.
const defaultHeartbeat = 60

// Identify returns the path of the series of a counter of peer, mono/PEER/CATEGORY/NAME, and its
// labels.
func Identify(peer string, c *Counter) receivers.Identity {
	return receivers.Identity{
		Path: pathname.Join("mono", peer, c.Category.String(), c.Name),
		Labels: []core.Label{
			{Name: "category", Value: c.Category.String()},
			{Name: "name", Value: receivers.Text([]byte(c.Name))},
			{Name: "peer", Value: peer},
			{Name: "type", Value: c.Type.String()},
			{Name: "unit", Value: c.Unit.String()},
			{Name: "variance", Value: c.Variance.String()},
		},
	}
}

// kindOf returns the kind of a counter's data source.
func kindOf(c *Counter) rra.Kind {
	switch {
	case c.Variance != Monotonic:
		return rra.Gauge
	case c.Type == Double:
		return rra.DDerive
	}
	return rra.Derive
}

// Define returns the definition of the series of a counter.
func Define(c *Counter, step int64) *rra.Definition {
	d := receivers.StandardDefinition(step)
	d.Sources[0].Kind, d.Sources[0].Heartbeat = kindOf(c), max(defaultHeartbeat, 2*step)
	return d
}

// fits reports whether a series with the definition d takes values of a counter: it has one data
// source, of the counter's kind, or of the kind that also takes doubles if the series was altered.
func fits(d *rra.Definition, c *Counter) bool {
	ds, ok := receivers.OnlySource(d)
	k := kindOf(c)
	return ok && (ds.Kind == k || k == rra.Derive && ds.Kind == rra.DDerive)
}

// describe returns the metadata of the series of a counter.
func describe(path, sender string, c *Counter, now rra.Time) receivers.Description {
	return receivers.Description{
		Sender: sender,
		PathMetadata: core.PathMetadata{Path: path, Metadata: core.Metadata{
			Time: now,
			Attributes: []core.Label{
				{Name: "category", Value: c.Category.String()},
				{Name: "type", Value: c.Type.String()},
				{Name: "units", Value: c.Unit.String()},
				{Name: "variance", Value: c.Variance.String()},
			},
		}},
	}
}
