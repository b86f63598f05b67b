package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rondo-db/rondo/engine/cluster/coord"
	"github.com/rondo-db/rondo/wal"
)

// Replicas are asked for digests of all that they hold. Those at the same position of the log are
// equal if the replicas hold the same.
type Replicas interface {
	// TakeDigest lets the leader of a partition, and those that follow it, take a digest, and
	// returns the leader's.
	TakeDigest(ctx context.Context, node coord.Member, partition int) (wal.Pos, uint64, error)
	// AwaitDigest returns the digest that a replica has taken at a position. It waits until the
	// replica has come there.
	AwaitDigest(ctx context.Context, node coord.Member, partition int, at wal.Pos) (uint64, error)
}

// A Comparison says whether the replicas of a partition hold the same.
type Comparison struct {
	Partition int
	Position  wal.Pos // at which they were compared; 0: they were not
	Digests   []Digest
	Problem   string // what is wrong, in words; empty: all are the same
	Differs   bool   // replicas differ, in contrast to one that could not be compared
}

// A Digest is the digest of one replica.
type Digest struct {
	Node  string
	Leads bool
	Sum   uint64
	Err   error // there is none
}

// checkTries is how often the leader is asked for a digest, if another one takes its place.
const checkTries = 5

// Compare compares the replicas of a partition of the map. It returns an error only if the cluster
// cannot be seen or does not have the partition. ctx bounds how long it waits.
func (o *Operator) Compare(ctx context.Context, r Replicas, partition int) (*Comparison, error) {
	for try := 1; ; try++ {
		v, err := o.look(ctx)
		if err != nil {
			return nil, err
		}
		if _, err := partitionIn(v, partition); err != nil {
			return nil, err
		}
		c, again := compare(ctx, v, r, partition)
		if !again || try == checkTries || ctx.Err() != nil {
			return c, nil
		}
		if o.pause(ctx) != nil {
			return c, nil // c says what is wrong
		}
	}
}

// compare compares replicas once. again: it may succeed later.
func compare(ctx context.Context, v *coord.View, r Replicas, partition int) (c *Comparison, again bool) {
	c = &Comparison{Partition: partition}
	leader := v.Leader(partition)
	if leader == nil {
		c.Problem = "it has no leader"
		return c, true
	}
	at, sum, err := r.TakeDigest(ctx, leader.Member, partition)
	if err != nil {
		c.Problem = fmt.Sprintf("the leader, node %s, takes no digest: %v", leader.Name, whole(ctx, err))
		return c, true
	}
	c.Position = at
	part := v.Map.Partitions[partition]
	c.Digests = make([]Digest, len(part.Nodes))
	var all sync.WaitGroup
	for i, name := range part.Nodes {
		d := &c.Digests[i]
		d.Node = name
		m := v.Members[name]
		switch {
		case name == leader.Name:
			d.Leads, d.Sum = true, sum
		case m == nil || !m.Live:
			d.Err = errors.New("its node is silent")
		default:
			all.Go(func() {
				d.Sum, d.Err = r.AwaitDigest(ctx, m.Member, partition, at)
				d.Err = whole(ctx, d.Err)
			})
		}
	}
	all.Wait()
	c.judge(sum)
	return c, false
}

// whole returns an error that says that there was no more time, where that is why.
func whole(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("it took too long: %w", err)
	}
	return err
}

// judge says which replicas differ from the leader's, whose digest is sum.
func (c *Comparison) judge(sum uint64) {
	var differ, mute []string
	for _, d := range c.Digests {
		switch {
		case d.Err != nil:
			mute = append(mute, d.Node)
		case d.Sum != sum:
			differ = append(differ, d.Node)
		}
	}
	slices.Sort(differ)
	slices.Sort(mute)
	var words []string
	if len(differ) > 0 {
		c.Differs = true
		words = append(words, fmt.Sprintf("%s from the leader's", subjectNames(differ, "differs", "differ")))
	}
	if len(mute) > 0 {
		words = append(words, fmt.Sprintf("%s not compared", subjectNames(mute, "was", "were")))
	}
	c.Problem = strings.Join(words, "; ")
}

// subjectNames names the replicas of nodes, and what they do.
func subjectNames(names []string, verb, verbs string) string {
	if len(names) == 1 {
		return "the replica of node " + names[0] + " " + verb
	}
	return "the replicas of nodes " + strings.Join(names, ", ") + " " + verbs
}
