package clustered

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/natskv"
	"github.com/rondo-db/rondo/cluster/node"
	"github.com/rondo-db/rondo/cluster/peer"
	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
)

// DialOptions say how a process that is no node reaches a cluster.
type DialOptions struct {
	Servers
	Token   string      // what nodes must know; empty: the one that the cluster keeps with its map
	PeerTLS *tls.Config // with which nodes are known; nil: no TLS
}

// A Client uses a cluster without being a node of it: a command that works on all partitions. It is
// a router.Directory.
type Client struct {
	bucket *natskv.Store
	peers  *peers
	router *router.Store
	stop   context.CancelFunc
	ended  sync.WaitGroup

	mu     sync.Mutex // guards what follows
	view   *coord.View
	looked chan struct{} // closed at the next look
	err    error         // of the last look
}

// ErrNoCluster says that the servers know of no cluster of a name.
var ErrNoCluster = errors.New("there is no such cluster: rondo serve --cluster makes one")

// Dial connects to a cluster. The error wraps ErrNoCluster if no cluster has its name.
func Dial(ctx context.Context, o DialOptions) (*Client, error) {
	c := &Client{looked: make(chan struct{}), stop: func() {}}
	if err := c.dial(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("cluster %s: %w", o.Name, err), c.Close())
	}
	return c, nil
}

func (c *Client) dial(ctx context.Context, o DialOptions) (err error) {
	if c.bucket, err = o.existing(ctx); err != nil {
		if errors.Is(err, natskv.ErrNoBucket) {
			return ErrNoCluster
		}
		return err
	}
	if o.Token == "" && o.PeerTLS == nil {
		if o.Token, err = keptToken(ctx, c.bucket); err != nil {
			return err
		}
	}
	c.peers = &peers{options: peer.Options{Token: o.Token, TLS: o.PeerTLS}, nodes: make(map[string]*peerNode)}
	w := coord.NewWatcher(c.bucket, coord.Times{}, time.Now)
	if c.view, err = look(ctx, w); err != nil {
		return err
	}
	if !c.view.HasMap() {
		return ErrNoCluster
	}
	own, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.ended.Go(func() { c.watch(own, w) })
	// Partitions have limits of their own, and refuse what is too much.
	c.router, err = router.New(c, router.Options{MaxSeries: math.MaxInt32})
	return err
}

// watch looks at the cluster until ctx ends.
func (c *Client) watch(ctx context.Context, w *coord.Watcher) {
	tick := time.NewTicker(coord.Times{}.WithDefaults().Interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		look, cancel := context.WithTimeout(ctx, connectTime)
		v, err := w.Look(look)
		cancel()
		c.mu.Lock()
		if c.err = err; err == nil {
			c.view = v
		}
		close(c.looked)
		c.looked = make(chan struct{})
		c.mu.Unlock()
	}
}

// Engine returns all partitions as one engine.
func (c *Client) Engine() core.Engine { return c.router }

// Store returns what keeps the map, and what nodes and commands announce.
func (c *Client) Store() coord.Store { return c.bucket }

// View returns what was seen last. Do not change it.
func (c *Client) View() *coord.View {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.view
}

// Partitions is as router.Directory has it.
func (c *Client) Partitions() int { return len(c.View().Map.Partitions) }

// Leader is as router.Directory has it.
func (c *Client) Leader(ctx context.Context, p int) (core.Engine, error) { return c.Partition(ctx, p) }

// Reader is as router.Directory has it. It returns the leader, which has everything.
func (c *Client) Reader(ctx context.Context, p int) (core.Engine, error) { return c.Leader(ctx, p) }

// Partition returns a partition as its leader has it. It waits for a leader until ctx ends; the
// error wraps core.ErrUnavailable.
func (c *Client) Partition(ctx context.Context, p int) (node.Partition, error) {
	for {
		c.mu.Lock()
		v, again, err := c.view, c.looked, c.err
		c.mu.Unlock()
		if m := v.Leader(p); m != nil {
			if st, ok := m.Standing(p); ok && st.Leads {
				e, err := c.peers.Partition(m.Member, p)
				if err != nil {
					return nil, fmt.Errorf("partition %d on node %s: %w: %w", p, m.Name, core.ErrUnavailable, err)
				}
				return e, nil
			}
		}
		select {
		case <-again:
		case <-ctx.Done():
			return nil, fmt.Errorf("partition %d: %w: %w: %w", p, leaderless(v), core.ErrUnavailable, errors.Join(ctx.Err(), err))
		}
	}
}

// errLeaderless says that a partition had no leader for all the time.
var errLeaderless = errors.New("it has no leader")

// leaderless returns that error, with what a view says of why.
func leaderless(v *coord.View) error {
	for _, m := range v.Members {
		if m.Live {
			return errLeaderless
		}
	}
	return fmt.Errorf("%w, and no node of the cluster runs", errLeaderless)
}

// Close ends the connections. Nobody uses the engine any more.
func (c *Client) Close() error {
	c.stop()
	c.ended.Wait()
	if c.peers != nil {
		c.peers.close()
	}
	if c.bucket != nil {
		return c.bucket.Close()
	}
	return nil
}

// CheckAdmitted returns an error if a node that lives refuses calls from this process for good.
func (c *Client) CheckAdmitted(ctx context.Context) error {
	_, refused, err := c.peers.admitted(ctx, c.bucket, coord.Member{})
	if err != nil {
		return err
	}
	return refusedBy(refused)
}
