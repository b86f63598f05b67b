package lines

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// maxSeries is how many names are remembered. Beyond it all are forgotten, and resolved again.
const maxSeries = 1 << 20

// names finds the series of each name in a line. Lines with a new name wait until resolve.
type names struct {
	sink  receivers.Sink
	c     *receivers.Counters
	cfg   receivers.Config
	step  int64             // of new series, in seconds
	known map[string]series // by name
	news  []newcomer
	pause receivers.Pause // newcomers are dropped while it lasts
	now   time.Time       // when the datagrams at hand were read
	value [1]rra.Value
}

// A series is where the values of a name go.
type series struct {
	ref   core.Ref
	why   receivers.Reason // if ref is 0: why there is no series,
	retry time.Time        // and until when its values are dropped for this reason
}

// A newcomer is a line with a name that has no series yet.
type newcomer struct {
	name, sender string
	at           rra.Time
	value        float64
}

func newNames(sink receivers.Sink, c *receivers.Counters, cfg receivers.Config, step int64) *names {
	return &names{sink: sink, c: c, cfg: cfg, step: step, known: make(map[string]series)}
}

// Identify returns the path of the series of a name, lines/NAME, and its labels.
func Identify(name string) receivers.Identity {
	return receivers.Identity{
		Path:   string(receivers.AppendComponent([]byte("lines/"), name)),
		Labels: []core.Label{{Name: "name", Value: name}},
	}
}

// begin notes the time. It forgets all series if the sink has refused one of them, which is stale.
func (n *names) begin(now time.Time, stale bool) {
	n.now = now
	if stale || len(n.known) > maxSeries {
		clear(n.known)
	}
}

// add adds the value of a line to q, or makes a newcomer of the line.
func (n *names) add(q *receivers.Queue, from netip.Addr, l Line) {
	if l.Time < rra.Seconds(2) || l.Time > n.cfg.Latest(n.now) {
		n.c.Drop(receivers.State, 1)
		return
	}
	x, known := n.known[string(l.Name)]
	switch {
	case x.ref != 0:
		n.submit(q, x.ref, l.Time, l.Value)
	case known && n.now.Before(x.retry):
		n.c.Drop(x.why, 1)
	default:
		n.news = append(n.news, newcomer{name: string(l.Name), sender: from.String(), at: l.Time, value: l.Value})
	}
}

// submit adds one sample to q.
func (n *names) submit(q *receivers.Queue, ref core.Ref, at rra.Time, value float64) {
	n.value[0] = rra.Float(value)
	q.Add(ref, at, n.value[:])
}

// full reports whether so many newcomers wait that they must be resolved now.
func (n *names) full() bool { return len(n.news) >= receivers.MaxNewcomers }

// resolve makes the sink find or make the series of the newcomers, and adds their values to q.
func (n *names) resolve(ctx context.Context, q *receivers.Queue) {
	news := n.news
	if len(news) == 0 {
		return
	}
	n.news = n.news[:0]
	if n.pause.Lasts(n.now) {
		n.c.Drop(receivers.Overload, uint64(len(news)))
		return
	}
	reqs := make([]receivers.Request, len(news))
	for i := range news {
		reqs[i] = n.request(&news[i])
	}
	if err := receivers.Resolve(ctx, n.sink, reqs); err != nil {
		n.pause.Begin(n.cfg.Now())
		n.c.Drop(receivers.FailureReason(err), uint64(len(news)))
		// The pause makes this one line a second at most.
		n.cfg.Logger.Error("lines: series not made", "series", len(reqs), "err", err)
		return
	}
	for i := range news {
		x := n.outcome(&reqs[i])
		n.known[news[i].name] = x
		if x.ref == 0 {
			n.c.Drop(x.why, 1)
			continue
		}
		n.submit(q, x.ref, news[i].at, news[i].value)
	}
}

// request returns the request for the series of a newcomer.
func (n *names) request(x *newcomer) receivers.Request {
	return receivers.Request{
		Identity: Identify(x.name),
		Sender:   x.sender,
		Time:     x.at,
		Define: func(step int64) *rra.Definition {
			if step == 0 {
				step = n.step
			}
			return receivers.StandardDefinition(step)
		},
	}
}

var errSources = errors.New("the series has more than one value")

// outcome returns the series that a request has led to. An existing series need not have been made
// by this receiver.
func (n *names) outcome(r *receivers.Request) series {
	err := r.Err
	if err == nil {
		if _, ok := receivers.OnlySource(r.Definition); !ok {
			err = errSources
		}
	}
	if err == nil {
		return series{ref: r.Ref}
	}
	why, retry := receivers.Absence(err)
	return series{why: why, retry: n.now.Add(retry)}
}
