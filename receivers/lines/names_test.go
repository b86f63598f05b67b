package lines

import (
	"context"
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
	c     *receivers.Counters
	asks  *receivers.Resolver
	cfg   receivers.Config
	step  int64                       // of new series, in seconds
	known map[string]receivers.Series // by name
	news  receivers.Newcomers[string, newcomer]
	now   time.Time // when the datagrams at hand were read
	tick  uint32    // of now
	value [1]rra.Value
}

// A newcomer is a line with a name that has no series yet.
type newcomer struct {
	name  string
	at    rra.Time
	value float64
}

// lineBytes is how much memory a newcomer takes beside its name, about.
const lineBytes = 128

func newNames(sink receivers.Sink, c *receivers.Counters, cfg receivers.Config, step int64) *names {
	return &names{c: c, cfg: cfg, step: step, asks: receivers.NewResolver(sink, cfg, "lines"), known: make(map[string]receivers.Series)}
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
	n.now, n.tick = now, n.asks.Tick(now)
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
	x := n.known[string(l.Name)]
	switch {
	case x.Ref != 0:
		n.submit(q, x.Ref, l.Time, l.Value)
	case !x.Due(n.tick):
		n.c.Drop(x.Why, 1)
	default:
		v := newcomer{string(l.Name), l.Time, l.Value}
		i, asked := n.news.Index(v.name)
		if !asked {
			i = n.news.Ask(v.name, n.request(&v, from))
		}
		n.news.Wait(i, v, len(v.name)+lineBytes, n.now)
	}
}

// submit adds one sample to q.
func (n *names) submit(q *receivers.Queue, ref core.Ref, at rra.Time, value float64) {
	n.value[0] = rra.Float(value)
	q.Add(ref, at, n.value[:])
}

// resolve makes the sink find or make the series of the newcomers, and adds their values to q.
func (n *names) resolve(ctx context.Context, q *receivers.Queue) {
	_ = n.news.Resolve(ctx, n.asks) // it is logged, and Replay counts what it costs
	n.news.Replay(n.c, func(v *newcomer, _ int, r *receivers.Request) {
		x := r.Series(n.tick)
		n.known[v.name] = x
		if x.Ref != 0 {
			n.submit(q, x.Ref, v.at, v.value)
		}
	})
}

// request returns the request for the series of a newcomer.
func (n *names) request(x *newcomer, from netip.Addr) receivers.Request {
	return receivers.Request{
		Identity: Identify(x.name),
		Sender:   from.String(),
		Time:     x.at,
		Define: func(step int64) *rra.Definition {
			if step == 0 {
				step = n.step
			}
			return receivers.StandardDefinition(step)
		},
	}
}
