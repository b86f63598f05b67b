package clusterbench

import (
	"context"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/peer"
)

// catchUp stops a node, sends readings, starts the node again, and measures how it catches up.
func (b *bench) catchUp(ctx context.Context) (r Catch, err error) {
	away := b.nodes[len(b.nodes)-1]
	if err := away.stop(); err != nil {
		return r, err
	}
	samples, _, err := b.load.run(ctx, b.Readings, 0)
	if err != nil {
		return r, err
	}
	view := b.dir.seen()
	var parts []int
	for p, x := range view.Map.Partitions {
		for _, name := range x.Nodes {
			if name == away.name {
				parts = append(parts, p)
			}
		}
	}
	r.Samples = samples * int64(len(parts)) / int64(b.Partitions)
	began := time.Now()
	if err := away.again(ctx); err != nil {
		return r, err
	}
	m, err := b.back(ctx, view.Members[away.name])
	if err != nil {
		return r, err
	}
	r.Start = time.Since(began).Seconds()
	for _, p := range parts {
		if err := b.catchUpOne(ctx, m, p); err != nil {
			return r, err
		}
	}
	r.Seconds = time.Since(began).Seconds() - r.Start
	r.Rate, r.CPU = float64(r.Samples)/r.Seconds, perMillion(away.process.cpu()-away.ended, r.Samples)
	return r, nil
}

// back waits until a node that was away announces itself anew.
func (b *bench) back(ctx context.Context, was *coord.Seen) (now *coord.Member, err error) {
	err = wait(ctx, "the node does not come back", func() (bool, error) {
		if m := b.dir.seen().Members[was.Name]; m != nil && m.Session != was.Session {
			now = &m.Member
		}
		return now != nil, nil
	})
	return now, err
}

// catchUpOne waits until a replica has applied what the partition's leader has acknowledged.
func (b *bench) catchUpOne(ctx context.Context, m *coord.Member, p int) error {
	at, err := b.reached(ctx, p)
	if err != nil {
		return err
	}
	var c *peer.Client
	b.dir.mu.Lock()
	c, err = b.dir.client(m, p)
	b.dir.mu.Unlock()
	if err != nil {
		return err
	}
	return wait(ctx, "the node does not catch up", func() (bool, error) {
		// The node may not have opened the replica yet.
		return c.WaitFor(ctx, at) == nil, ctx.Err()
	})
}
