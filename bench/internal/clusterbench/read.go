package clusterbench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/client"
)

// listTurns is how often the series are listed, in turns.
const listTurns = 3

// fetchTime is the time of the rows that are fetched.
const fetchTime = time.Hour

// compare reads through the nodes and through a server of one machine that has the same load.
func (b *bench) compare(ctx context.Context, r *Result) (err error) {
	b.Say("lists and fetches, through nodes and through one machine")
	alone, err := startNode(ctx, b.Rondo, b.Dir, "alone-server", b.aloneDir())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, alone.end()) }()
	if r.List, err = b.lists(ctx, alone); err != nil {
		return err
	}
	r.Fetch, err = b.fetches(ctx, alone)
	return err
}

// used is the processor time of all processes that may take part in an answer.
func (b *bench) used(alone *node) time.Duration { return b.nodes.cpu() + b.servers.cpu() + alone.cpu() }

// lists lists all series, through one machine and through a node, in turns. The figures are the
// least of the turns.
func (b *bench) lists(ctx context.Context, alone *node) ([]Read, error) {
	out := []Read{{Through: "one machine"}, {Through: "a node"}}
	for range listTurns {
		for i, n := range []*node{alone, b.nodes[0]} {
			began, cpu := time.Now(), b.used(alone)
			found := 0
			for _, err := range n.rpc.List(ctx, "bench/") {
				if err != nil {
					return nil, fmt.Errorf("list through %s: %w", n.name, err)
				}
				found++
			}
			if found != len(b.load.refs) {
				return nil, fmt.Errorf("list through %s: %d series, want %d", n.name, found, len(b.load.refs))
			}
			took, used := time.Since(began).Seconds(), (b.used(alone) - cpu).Seconds()
			if x := &out[i]; x.Seconds == 0 || took < x.Seconds {
				x.Seconds = took
			}
			if x := &out[i]; x.CPU == 0 || used < x.CPU {
				x.CPU = used
			}
		}
	}
	return out, nil
}

// fetches fetches series that were drawn, through one machine, through a node with a replica that
// follows, and through one without a replica. The answers must be equal.
func (b *bench) fetches(ctx context.Context, alone *node) ([]Read, error) {
	out := []Read{{Through: "one machine"}, {Through: "a follower"}, {Through: "a leader"}, {Through: "another node"}}
	times := make([][]time.Duration, len(out))
	rnd := rand.New(rand.NewPCG(b.Seed, 0))
	v := b.dir.seen()
	for range b.Fetches {
		i := rnd.IntN(len(b.load.refs))
		spec := b.load.gen.Spec(i/b.load.gen.HostSeries(), i%b.load.gen.HostSeries())
		end := b.load.gen.At(0, b.Readings-2).Std()
		key, _, err := core.CleanPath(spec.Path)
		if err != nil {
			return nil, err
		}
		names := v.Map.Partitions[router.Partition(key, b.Partitions)].Nodes
		var first client.Rows
		for k, n := range []*node{alone, b.named(names, 1), b.named(names, 0), b.other(names)} {
			if n == nil {
				continue
			}
			began, cpu := time.Now(), b.used(alone)
			rows, err := n.rpc.Fetch(ctx, spec.Path, "AVERAGE", end.Add(-fetchTime), end, 0)
			times[k] = append(times[k], time.Since(began))
			out[k].CPU += (b.used(alone) - cpu).Seconds()
			if err != nil {
				return nil, fmt.Errorf("fetch %s through %s: %w", spec.Path, n.name, err)
			}
			if k == 0 {
				first = rows
			} else if !equal(first, rows) {
				return nil, fmt.Errorf("fetch %s: %s gives other rows than one machine:\n%v\n%v", spec.Path, n.name, rows, first)
			}
		}
	}
	for k := range out {
		slices.Sort(times[k])
		if n := len(times[k]); n > 0 {
			out[k].Seconds, out[k].P99, out[k].CPU = times[k][n/2].Seconds(), times[k][n*99/100].Seconds(), out[k].CPU/float64(n)
		}
	}
	return out, nil
}

// named returns the node that has a place in a partition's list.
func (b *bench) named(names []string, place int) *node {
	for _, n := range b.nodes {
		if n.name == names[place] {
			return n
		}
	}
	return nil
}

// other returns a node without a replica, or nil.
func (b *bench) other(names []string) *node {
	for _, n := range b.nodes {
		if !slices.Contains(names, n.name) {
			return n
		}
	}
	return nil
}

// equal says whether rows are the same, bit for bit.
func equal(a, b client.Rows) bool {
	same := func(x, y []float64) bool {
		return slices.EqualFunc(x, y, func(p, q float64) bool { return math.Float64bits(p) == math.Float64bits(q) })
	}
	return a.Start.Equal(b.Start) && a.Step == b.Step && slices.Equal(a.DS, b.DS) && slices.EqualFunc(a.Value, b.Value, same)
}
