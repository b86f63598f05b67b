package clusterbench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/peer"
	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/enginebench"
	"github.com/rondo-db/rondo/wal"
)

// How long the nodes may take until they rest, and how long they must rest.
const (
	restTime = 2 * time.Minute
	restTick = 2 * time.Second
)

// A bench is a cluster that is measured.
type bench struct {
	*Config
	servers *servers
	nodes   nodes
	dir     *directory
	load    *load
}

// Run measures one machine and a cluster under the same load. All processes have ended when it
// returns.
func Run(ctx context.Context, c Config) (r Result, err error) {
	if err := c.Validate(); err != nil {
		return r, err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return r, err
	}
	r.Partitions, r.Nodes, r.Replicas = c.Partitions, c.Nodes, c.Replicas
	c.Say("one machine")
	if r.Alone, err = c.alone(ctx); err != nil {
		return r, fmt.Errorf("one machine: %w", err)
	}
	c.Say("one node")
	if r.Node, err = c.node(ctx); err != nil {
		return r, fmt.Errorf("one node: %w", err)
	}
	b := &bench{Config: &c}
	defer func() { err = errors.Join(err, b.stop()) }()
	if err := b.start(ctx); err != nil {
		return r, err
	}
	r.Series, r.Batch, r.Cores = len(b.load.refs), b.load.hosts*enginebench.HostReadings, runtime.GOMAXPROCS(0)
	r.Senders, r.Under = len(b.load.all), len(b.load.all)*b.load.under
	if r.Idle, err = b.idle(ctx); err != nil {
		return r, err
	}
	c.Say("as fast as samples are taken; nodes %s", b.nodes.pids())
	if r.Full, err = b.measure(ctx, c.Readings, 0); err != nil {
		return r, err
	}
	if err := b.compare(ctx, &r); err != nil {
		return r, err
	}
	if c.Half > 0 {
		c.Say("at half of that rate, for %d s", c.Half)
		readings := max(int(r.Full.Rate/2*float64(c.Half))/len(b.load.refs), 1)
		if r.Half, err = b.measure(ctx, readings, r.Full.Rate/2); err != nil {
			return r, err
		}
	}
	c.Say("a node is away")
	r.Catch, err = b.catchUp(ctx)
	return r, err
}

// aloneDir is where the store of one machine is.
func (c *Config) aloneDir() string { return filepath.Join(c.Dir, "alone") }

// alone measures the load on a store of this process. Checkpoints are left out: the nodes of a
// short run have none.
func (c *Config) alone(ctx context.Context) (a Alone, err error) {
	s, err := core.Open(c.aloneDir(), core.Options{NoBackground: true})
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	l, err := newLoad(ctx, c, s)
	if err != nil {
		return a, err
	}
	began, cpu := time.Now(), ownCPU()
	samples, acks, err := l.run(ctx, c.Readings, 0)
	if err != nil {
		return a, err
	}
	a.Rate, a.CPU = float64(samples)/time.Since(began).Seconds(), perMillion(ownCPU()-cpu, samples)
	a.AckP50, a.AckP99 = acks.Quantile(0.5).Seconds(), acks.Quantile(0.99).Seconds()
	return a, nil
}

// start starts servers and nodes, makes the series, and waits until all replicas are current.
func (b *bench) start(ctx context.Context) (err error) {
	b.Say("three nats-servers and %d nodes", b.Nodes)
	if b.servers, err = startServers(ctx, b.NATS, b.Dir); err != nil {
		return err
	}
	token := rand.Text()
	if b.dir, err = newDirectory(ctx, b.servers, token, b.Partitions); err != nil {
		return err
	}
	if b.nodes, err = startNodes(ctx, b.Config, b.servers, token); err != nil {
		return err
	}
	store, err := router.New(b.dir, router.Options{MaxSeries: 1 << 30, Wait: startTime})
	if err != nil {
		return err
	}
	if err := b.settle(ctx); err != nil {
		return err
	}
	b.Say("make %d series", b.Series)
	if b.load, err = newLoad(ctx, b.Config, store); err != nil {
		return err
	}
	b.Say("wait for all replicas, and until the nodes rest")
	if err := b.settle(ctx); err != nil {
		return err
	}
	return b.rest(ctx)
}

// rest waits until the nodes use little processor time: replicas that have just been made take
// digests of themselves. It waits for restTime at most.
func (b *bench) rest(ctx context.Context) error {
	for range restTime / restTick {
		before := b.nodes.cpu()
		select {
		case <-time.After(restTick):
		case <-ctx.Done():
			return ctx.Err()
		}
		if b.nodes.cpu()-before < restTick/5 {
			return nil
		}
	}
	b.Say("the nodes do not rest: what they do is part of the figures")
	return nil
}

// idle measures what runs while nobody sends.
func (b *bench) idle(ctx context.Context) (r Idle, err error) {
	began, nodes, servers, own := time.Now(), b.nodes.cpu(), b.servers.cpu(), ownCPU()
	select {
	case <-time.After(2 * restTick):
	case <-ctx.Done():
		return r, ctx.Err()
	}
	cores := func(now, before time.Duration) float64 { return (now - before).Seconds() / time.Since(began).Seconds() }
	return Idle{cores(b.nodes.cpu(), nodes), cores(b.servers.cpu(), servers), cores(ownCPU(), own)}, nil
}

// settle waits until each partition has all its replicas, and the one that the map prefers leads.
func (b *bench) settle(ctx context.Context) error {
	return wait(ctx, "the partitions have no leaders", func() (bool, error) {
		for _, n := range b.nodes {
			if err := n.died(); err != nil {
				return false, err
			}
		}
		v := b.dir.seen()
		if v == nil || len(v.Map.Partitions) != b.Partitions {
			return false, nil
		}
		for p := range v.Map.Partitions {
			if !settled(v, p) {
				return false, nil
			}
		}
		return true, nil
	})
}

// settled is settle for one partition.
func settled(v *coord.View, p int) bool {
	names := v.Map.Partitions[p].Nodes
	for _, name := range names {
		if !v.Current(p, name) {
			return false
		}
	}
	m := v.Leader(p)
	return m != nil && len(names) > 0 && m.Name == names[0]
}

// stop ends everything.
func (b *bench) stop() (err error) {
	if b.dir != nil {
		err = b.dir.close()
	}
	err = errors.Join(err, b.nodes.stop())
	if b.servers != nil {
		err = errors.Join(err, b.servers.stop())
	}
	return err
}

// measure sends readings.
func (b *bench) measure(ctx context.Context, readings int, rate float64) (r Load, err error) {
	before, err := b.servers.logs(ctx)
	if err != nil {
		return r, err
	}
	began, nodes, servers, own := time.Now(), b.nodes.cpu(), b.servers.cpu(), ownCPU()
	samples, acks, err := b.load.run(ctx, readings, rate)
	if err != nil {
		for _, n := range b.nodes {
			err = errors.Join(err, n.died())
		}
		return r, err
	}
	r.Samples, r.Seconds = samples, time.Since(began).Seconds()
	r.Driver = perMillion(ownCPU()-own, samples)
	if err := b.applied(ctx); err != nil { // what followers do belongs to it
		return r, err
	}
	r.Rate = float64(samples) / r.Seconds
	r.Nodes, r.Servers = perMillion(b.nodes.cpu()-nodes, samples), perMillion(b.servers.cpu()-servers, samples)
	r.AckP50, r.AckP99 = acks.Quantile(0.5).Seconds(), acks.Quantile(0.99).Seconds()
	r.Batches = int64(acks.Count())
	after, err := b.servers.logs(ctx)
	r.Messages, r.LogBytes = after.since(before)
	return r, err
}

func perMillion(cpu time.Duration, samples int64) float64 {
	return cpu.Seconds() / (float64(samples) / 1e6)
}

// applied waits until all replicas have applied what was acknowledged.
func (b *bench) applied(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for p := range b.Partitions {
		at, err := b.reached(ctx, p)
		if err != nil {
			return err
		}
		for _, c := range b.dir.replicas(p) {
			if err := c.WaitFor(ctx, at); err != nil {
				return fmt.Errorf("a replica of partition %d: %w", p, err)
			}
		}
	}
	return nil
}

// reached returns the position of a partition's leader.
func (b *bench) reached(ctx context.Context, p int) (wal.Pos, error) {
	e, err := b.dir.Leader(ctx, p)
	if err != nil {
		return 0, err
	}
	c := e.(*peer.Client)
	_ = c.Stats() // the answer has the position
	return max(c.Acknowledged(), c.Position()), nil
}
