package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/placement"
)

// Drain says that all replicas of a node are to move to others. It is refused if the others are
// fewer than a partition has replicas.
func (o *Operator) Drain(ctx context.Context, node string) error {
	v, err := o.lookFor(ctx, node)
	if err != nil {
		return err
	}
	var stay, cannot []string
	for _, name := range sorted(v.Members) {
		switch m := v.Members[name]; {
		case name == node:
		case m.Leaving:
			cannot = append(cannot, name+" is to leave, too")
		case !m.Live:
			cannot = append(cannot, name+" is silent")
		case m.DiskFull != "":
			cannot = append(cannot, "the disk of "+name+" is full")
		default:
			stay = append(stay, name)
		}
	}
	if len(stay) < v.Map.Replicas && has(v.Map, node) {
		why := count(len(stay), "other node", "other nodes")
		if len(stay) > 0 {
			why += " (" + strings.Join(stay, ", ") + ")"
		}
		if len(cannot) > 0 {
			why += "; " + strings.Join(cannot, ", ")
		}
		return refused("node %s cannot be drained: partitions have %s, and could be on %s. Start another node first",
			node, count(v.Map.Replicas, "replica", "replicas"), why)
	}
	return o.leave(ctx, node, true)
}

// Undrain ends that a node is to leave.
func (o *Operator) Undrain(ctx context.Context, node string) error {
	if _, err := o.lookFor(ctx, node); err != nil {
		return err
	}
	return o.leave(ctx, node, false)
}

func (o *Operator) leave(ctx context.Context, node string, leaving bool) error {
	return o.repeat(ctx, func() error { return written(coord.SetLeaving(ctx, o.Store, node, leaving)) })
}

// Forget removes a node from the list of nodes, which must be silent and have no replica. One that
// comes back is a new node.
func (o *Operator) Forget(ctx context.Context, node string) error {
	v, err := o.lookFor(ctx, node)
	switch {
	case err != nil:
		return err
	case v.Members[node].Live:
		return refused("node %s lives: stop it first", node)
	case has(v.Map, node):
		return refused("node %s has replicas in the map of partitions: rondo cluster drain %s moves them to others", node, node)
	}
	if err := o.leave(ctx, node, false); err != nil {
		return err
	}
	return o.repeat(ctx, func() error { return written(coord.Forget(ctx, o.Store, node)) })
}

// repeat calls try until no other write comes between.
func (o *Operator) repeat(ctx context.Context, try func() error) error {
	for n := 1; ; n++ {
		err := try()
		if !errors.Is(err, coord.ErrConflict) || n == tries {
			return err
		}
		if err := o.pause(ctx); err != nil {
			return err
		}
	}
}

// written returns the error of a write: after one that is no conflict it may have been made.
func written(err error) error {
	if err == nil || errors.Is(err, coord.ErrConflict) {
		return err
	}
	return fmt.Errorf("%w; %w", err, ErrUnsure)
}

// has reports whether a map gives a node a replica, or is about to.
func has(m placement.Map, node string) bool {
	for _, p := range m.Partitions {
		if p.Has(node) {
			return true
		}
	}
	return false
}
