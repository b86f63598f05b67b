package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/internal/sleep"
)

var (
	// ErrUnknown says that there is no such node or partition.
	ErrUnknown = errors.New("the cluster does not have it")
	// ErrRefused says that a change cannot be made as the cluster is now.
	ErrRefused = errors.New("this cannot be done now")
	// ErrUnsure says that the servers did not answer: the change may have been made.
	ErrUnsure = errors.New("it may have been done or not: rondo cluster status says it")
)

// A refusal is an error whose text says it all. It matches ErrUnknown or ErrRefused.
type refusal struct {
	kind error
	text string
}

func (r *refusal) Error() string        { return r.text }
func (r *refusal) Is(target error) bool { return target == r.kind }

func refused(format string, args ...any) error {
	return &refusal{ErrRefused, fmt.Sprintf(format, args...)}
}

func unknown(format string, args ...any) error {
	return &refusal{ErrUnknown, fmt.Sprintf(format, args...)}
}

// An Operator changes a cluster. Its methods return when the change is written; the nodes then do
// what follows from it. Errors match ErrUnknown or ErrRefused, or say that the store does not
// answer.
type Operator struct {
	Store coord.Store
	// Look returns what is to be seen of the cluster, which may be a second old.
	Look func(context.Context) (*coord.View, error)
	// Pause is the time until a change is tried again that met another one; default 500 ms.
	Pause time.Duration
}

// tries is how often a change of the map is tried that meets others.
const tries = 20

// change makes changes of the map, which plan finds in a view, as one.
func (o *Operator) change(ctx context.Context, plan func(*coord.View) ([]placement.Change, error)) error {
	return o.repeat(ctx, func() error {
		v, err := o.look(ctx)
		if err != nil {
			return err
		}
		changes, err := plan(v)
		if err != nil || len(changes) == 0 {
			return err
		}
		m := v.Map
		for _, c := range changes {
			if m, err = m.Apply(c); err != nil {
				return refused("%v", err)
			}
		}
		_, err = coord.WriteMap(ctx, o.Store, m, v.MapRevision)
		return written(err)
	})
}

// look returns a view of a cluster that has a map.
func (o *Operator) look(ctx context.Context) (*coord.View, error) {
	v, err := o.Look(ctx)
	if err != nil {
		return nil, err
	}
	if v == nil || !v.HasMap() {
		return nil, refused("there is no cluster yet: nobody has made the map of partitions")
	}
	return v, nil
}

// lookFor is look for a node that the cluster has.
func (o *Operator) lookFor(ctx context.Context, node string) (*coord.View, error) {
	v, err := o.look(ctx)
	if err == nil {
		err = known(v, node)
	}
	return v, err
}

func (o *Operator) pause(ctx context.Context) error {
	return sleep.For(ctx, cmp.Or(o.Pause, 500*time.Millisecond))
}

// Move begins to move a replica of a partition from one node to another, and holds the partition.
// The note, which may be empty, is for whoever has asked.
func (o *Operator) Move(ctx context.Context, partition int, from, to string) (note string, err error) {
	err = o.change(ctx, func(v *coord.View) ([]placement.Change, error) {
		part, err := partitionIn(v, partition)
		if err != nil {
			return nil, err
		}
		for _, name := range []string{from, to} {
			if err := known(v, name); err != nil {
				return nil, err
			}
		}
		if err := movable(v, partition, part, from, to); err != nil {
			return nil, err
		}
		note = mates(v, part, from, to)
		return []placement.Change{
			{Kind: placement.Begin, Partition: partition, From: from, To: to},
			{Kind: placement.Hold, Partition: partition},
		}, nil
	})
	return note, err
}

// movable returns why a replica cannot move from a node to another. Both nodes are known.
func movable(v *coord.View, partition int, part placement.Partition, from, to string) error {
	switch {
	case part.Move != nil && part.Move.To == to && part.Move.From == from:
		return refused("partition %d moves from %s to %s already", partition, from, to)
	case part.Move != nil:
		return refused("partition %d moves to %s just now: move it again when that has ended", partition, part.Move.To)
	case !slices.Contains(part.Nodes, from):
		return refused("node %s has no replica of partition %d: %s", from, partition, have(part.Nodes))
	case slices.Contains(part.Nodes, to):
		return refused("node %s has a replica of partition %d already", to, partition)
	}
	if err := takes(v, to); err != nil {
		return err
	}
	for _, name := range part.Nodes {
		switch {
		case v.Current(partition, name):
		case name != from:
			return refused("the replica of partition %d on node %s is not current: a move would leave one current replica less; try again when rondo cluster status is clean", partition, name)
		case len(part.Nodes) == 1:
			return refused("the only replica of partition %d, on node %s, is not current: there is nothing to copy", partition, name)
		}
	}
	return nil
}

// takes returns why a node takes no replica.
func takes(v *coord.View, name string) error {
	switch m := v.Members[name]; {
	case !m.Live:
		return refused("node %s is silent: it takes no replica", name)
	case m.Leaving:
		return refused("node %s is to leave and takes no replica: rondo cluster drain --undo %s lets it stay", name, name)
	case m.Stopping:
		return refused("node %s is stopping: it takes no replica", name)
	case m.DiskFull != "":
		return refused("the disk of node %s is full (%s): it takes no replica", name, m.DiskFull)
	}
	return nil
}

// mates says with which other replicas a replica will share its zone.
func mates(v *coord.View, part placement.Partition, from, to string) string {
	zone := v.Members[to].Zone
	if zone == "" {
		return ""
	}
	for _, name := range part.Nodes {
		if m := v.Members[name]; name != from && m != nil && m.Zone == zone {
			return fmt.Sprintf("nodes %s and %s are both in zone %s: what fails at once there takes both replicas", name, to, zone)
		}
	}
	return ""
}

// Lead makes a replica the preferred leader of its partition, and holds the partition. The node
// that leads hands the lease on within a few seconds.
func (o *Operator) Lead(ctx context.Context, partition int, node string) error {
	return o.change(ctx, func(v *coord.View) ([]placement.Change, error) {
		part, err := partitionIn(v, partition)
		if err == nil {
			err = known(v, node)
		}
		switch {
		case err != nil:
			return nil, err
		case !slices.Contains(part.Nodes, node):
			return nil, refused("node %s has no replica of partition %d, so it cannot lead it: %s", node, partition, have(part.Nodes))
		case part.Move != nil && part.Move.From == node:
			return nil, refused("the replica of partition %d on node %s moves to %s just now", partition, node, part.Move.To)
		case part.Nodes[0] == node && part.Held:
			return nil, nil
		case !v.MayLead(partition, node):
			return nil, refused("node %s cannot lead partition %d now: it must live, not leave, and have a current replica", node, partition)
		}
		return []placement.Change{
			{Kind: placement.Prefer, Partition: partition, To: node},
			{Kind: placement.Hold, Partition: partition},
		}, nil
	})
}

// Release ends that a partition is held.
func (o *Operator) Release(ctx context.Context, partition int) error {
	return o.change(ctx, func(v *coord.View) ([]placement.Change, error) {
		part, err := partitionIn(v, partition)
		if err != nil || !part.Held {
			return nil, err
		}
		return []placement.Change{{Kind: placement.Release, Partition: partition}}, nil
	})
}

// BeginLog lets the replica of a partition on a node begin the log anew behind what it holds. It is
// refused while somebody leads, and if another replica that can be used holds more.
func (o *Operator) BeginLog(ctx context.Context, partition int, node string) error {
	v, err := o.lookFor(ctx, node)
	if err == nil {
		_, err = partitionIn(v, partition)
	}
	if err != nil {
		return err
	}
	var own *Replica
	p := partitionOf(v, partition)
	for i, r := range p.Replicas {
		if r.Node == node {
			own = &p.Replicas[i]
		}
	}
	switch {
	case p.Leader != "":
		return refused("node %s leads partition %d: its log has lost nothing", p.Leader, partition)
	case own == nil || own.State != Behind && own.State != Current:
		return refused("node %s has no replica of partition %d that can be used", node, partition)
	}
	for _, r := range p.Replicas {
		if r.Position > own.Position && (r.State == Behind || r.State == Current || r.State == OfSilent) {
			return refused("the replica of partition %d on node %s holds %d records more: name that one, or drain node %[2]s if it does not come back", partition, r.Node, r.Position-own.Position)
		}
	}
	next := v.Leases[partition].For(node, v.Members[node].Session)
	next.Begin = true
	_, err = coord.WriteLease(ctx, o.Store, partition, v.Leases[partition], next)
	return written(err)
}

// partitionIn returns a partition of the map.
func partitionIn(v *coord.View, partition int) (placement.Partition, error) {
	if n := len(v.Map.Partitions); partition < 0 || partition >= n {
		return placement.Partition{}, unknown("there is no partition %d: the cluster has 0 to %d", partition, n-1)
	}
	return v.Map.Partitions[partition], nil
}

// known returns an error unless the cluster has a node.
func known(v *coord.View, name string) error {
	if v.Members[name] != nil {
		return nil
	}
	all := sorted(v.Members)
	if len(all) == 0 {
		return unknown("there is no node %q: the cluster has none", name)
	}
	return unknown("there is no node %q: the cluster has %s", name, strings.Join(all, ", "))
}

// have names the nodes that have a replica.
func have(nodes []string) string {
	if len(nodes) == 1 {
		return nodes[0] + " has the only one"
	}
	return strings.Join(nodes[:len(nodes)-1], ", ") + " and " + nodes[len(nodes)-1] + " have one"
}
