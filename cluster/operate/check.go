package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/wal"
)

// Replicas are compared by digests of all that they hold.
type Replicas interface {
	// Compare lets the replicas of a partition take a digest at the same position of the log, and
	// returns what they took. The error says that the leader has none.
	Compare(ctx context.Context, partition int) ([]coord.Digest, error)
}

// A Comparison says whether the replicas of a partition hold the same.
type Comparison struct {
	Partition int
	Position  wal.Pos // at which they were compared; 0: they were not
	Digests   []coord.Digest
	Problem   string // what is wrong, in words; empty: all are the same
	Differs   bool   // replicas differ, in contrast to one that could not be compared
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
		c := &Comparison{Partition: partition, Problem: "it has no leader"}
		if v.Leader(partition) != nil {
			if c.Digests, err = r.Compare(ctx, partition); err == nil {
				c.judge()
				return c, nil
			}
			c.Problem = fmt.Sprintf("the leader has no digest: %v", err)
		}
		if ctx.Err() != nil {
			c.Problem = "it took too long: " + c.Problem
		}
		if try == checkTries || ctx.Err() != nil || o.pause(ctx) != nil {
			return c, nil
		}
	}
}

// judge says which replicas differ from the leader's.
func (c *Comparison) judge() {
	var leader uint64
	for _, d := range c.Digests {
		if d.Leads {
			leader, c.Position = d.Sum, d.At
		}
	}
	var differ, mute []string
	for _, d := range c.Digests {
		switch {
		case d.Err != nil:
			mute = append(mute, d.Node)
		case d.Sum != leader:
			differ = append(differ, d.Node)
		}
	}
	slices.Sort(differ)
	slices.Sort(mute)
	var words []string
	if len(differ) > 0 {
		c.Differs = true
		words = append(words, subjectNames(differ, "differs", "differ")+" from the leader's")
	}
	if len(mute) > 0 {
		words = append(words, subjectNames(mute, "was", "were")+" not compared")
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
