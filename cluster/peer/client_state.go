package peer

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cluster/peer/peerv1"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/types"
)

// stateAge is how old counters may be before they are asked for again.
const stateAge = time.Second

// A state is what a partition has reported of its counters.
type state struct {
	mu    sync.Mutex // guards what follows; held while the partition is asked
	at    time.Time
	stats core.Stats
}

// Stats is core.Engine's. Where the partition does not answer, it is what was known last.
func (c *Client) Stats() core.Stats {
	x := &c.state
	x.mu.Lock()
	defer x.mu.Unlock()
	if time.Since(x.at) < stateAge {
		return x.stats
	}
	ctx, cancel := c.bounded(context.Background())
	defer cancel()
	m, err := ask(ctx, c, c.node.rpc.State, &peerv1.StateRequest{Target: c.target(ctx)})
	var stats core.Stats
	if err == nil && json.Unmarshal(m.GetStats(), &stats) == nil {
		x.stats = stats
	}
	x.at = time.Now() // whoever does not answer is not asked for each counter
	return x.stats
}

// Renames is core.Engine's. It grows with answers, and when the partition was opened anew.
func (c *Client) Renames() uint64 {
	if c.heard.Load() < time.Now().Add(-stateAge).UnixNano() {
		c.Stats()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.renames
}

// Watch is core.Engine's. It returns when the partition has begun to collect.
func (c *Client) Watch(most int) *core.Watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := core.CollectWatch(most, cancel)
	begun := make(chan struct{})
	go func() {
		defer cancel()
		defer w.Lose()
		in, err := c.node.rpc.Watch(ctx, connect.NewRequest(&peerv1.WatchRequest{Target: c.target(ctx), Most: int64(most)}))
		if err != nil {
			close(begun)
			return
		}
		defer func() { _ = in.Close() }() // an error of it would say nothing new
		first := true
		for in.Receive() {
			m := in.Msg()
			if c.took(m.GetStanding()) != nil || m.GetLost() {
				break
			}
			for _, x := range m.GetChanges() {
				w.Add(core.Change{
					Was: x.GetWas(), Path: x.GetPath(), Ref: core.Ref(x.GetRef()), Labels: types.ReadLabels(x.GetLabels()), Metadata: x.GetMetadata(),
				})
			}
			if first {
				first = false
				close(begun)
			}
		}
		if first {
			w.Lose()
			close(begun)
		}
	}()
	limit := time.NewTimer(c.node.o.Timeout)
	defer limit.Stop()
	select {
	case <-begun:
	case <-limit.C:
		w.End()
	}
	return w
}
