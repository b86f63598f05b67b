package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

const clusterMoveHelp = `Move a replica of a partition from one node to another, or let another replica lead.

  rondo cluster move 3 a b --wait       the replica of partition 3 on node a moves to node b
  rondo cluster move --lead 3 b         the replica of partition 3 on node b leads
  rondo cluster move --release 3        partition 3 is held no more

A move takes a copy; the replica on node a goes when the one on node b is current, so that there is never one less. The nodes level replicas and
leaders among themselves, and would take back a move that makes them uneven. So a partition that was moved is held: it stays where it is until
--release, unless a node with a replica of it is drained or lost. rondo cluster partitions shows what is held. To empty a node, drain it instead.`

// A moving is a run of rondo cluster move.
type moving struct {
	operating
	lead, release, wait bool
}

func newClusterMove(c *cli.Factory) *cobra.Command {
	m := &moving{operating: operating{Factory: c}}
	cmd := &cobra.Command{
		Use:   "move PARTITION FROM TO | --lead PARTITION NODE | --release PARTITION",
		Short: "Move a replica of a partition, or let another one lead",
		Long:  clusterMoveHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			n := 3
			switch {
			case m.lead && m.release:
				return errors.New("--lead and --release contradict each other")
			case m.lead:
				n = 2
			case m.release:
				n = 1
			}
			if err := cli.Takes(n, n)(cmd, args); err != nil {
				return err
			}
			_, err := partitionNumber(args[0])
			return err
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return m.completeState(cmd, func(st *rondov1.ClusterState) []cobra.Completion { return m.offers(st, args) })
		},
		RunE: func(cmd *cobra.Command, args []string) error { return m.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.BoolVar(&m.lead, "lead", false, "let the replica on NODE lead")
	f.BoolVar(&m.release, "release", false, "let nodes move the partition again as they see fit")
	f.BoolVar(&m.wait, "wait", false, "wait until it is done; the exit code is 1 if it was given up")
	f.Var(&m.timeout, "timeout", "with --wait, how long to wait at most; 0: without end")
	m.addDirect(f)
	return cmd
}

// offers returns what may follow some arguments.
func (m *moving) offers(st *rondov1.ClusterState, args []string) []cobra.Completion {
	if len(args) == 0 {
		return partitionNumbers(st)
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 0 || n >= len(st.GetPartitions()) || m.release || len(args) > 2 || m.lead && len(args) > 1 {
		return nil
	}
	has := make(map[string]bool)
	for _, r := range st.GetPartitions()[n].GetReplicas() {
		has[r.GetNode()] = true
	}
	return slices.DeleteFunc(nodeNames(st), func(c cobra.Completion) bool {
		name, _, _ := strings.Cut(c, "\t")
		return has[name] == (len(args) == 2) // the last argument of a move is a node without a replica
	})
}

func (m *moving) run(ctx context.Context, args []string) error {
	partition, err := partitionNumber(args[0])
	if err != nil {
		return err
	}
	return m.with(ctx, func(ctx context.Context, api rondov1.ClusterCalls) error {
		var begun string
		var done func(*rondov1.ClusterPartition) (bool, error)
		switch {
		case m.release:
			if _, err := api.Release(ctx, &rondov1.ReleaseRequest{Partition: partition}); err != nil {
				return backend.Explain(err)
			}
			return m.say("partition %d is held no more", partition)
		case m.lead:
			if _, err := api.Lead(ctx, &rondov1.LeadRequest{Partition: partition, Node: args[1]}); err != nil {
				return backend.Explain(err)
			}
			begun, done = fmt.Sprintf("node %s is to lead partition %d, which is held", args[1], partition), ledBy(args[1])
		default:
			answer, err := api.Move(ctx, &rondov1.MoveRequest{Partition: partition, From: args[1], To: args[2]})
			if err != nil {
				return backend.Explain(err)
			}
			if note := answer.GetNote(); note != "" {
				m.warn(note)
			}
			begun, done = fmt.Sprintf("partition %d moves from %s to %s, and is held there", partition, args[1], args[2]), movedTo(args[1], args[2])
		}
		if err := m.say("%s", begun); err != nil || !m.wait {
			return err
		}
		if err := m.await(ctx, api, partition, done); err != nil {
			return err
		}
		return m.say("done")
	})
}

func ledBy(node string) func(*rondov1.ClusterPartition) (bool, error) {
	return func(p *rondov1.ClusterPartition) (bool, error) {
		if replicaOn(p, node) == nil {
			return false, fmt.Errorf("node %s has no replica of partition %d any more", node, p.GetNumber())
		}
		return p.GetLeader() == node, nil
	}
}

// movedTo reports whether a replica has moved.
func movedTo(from, to string) func(*rondov1.ClusterPartition) (bool, error) {
	began := false
	return func(p *rondov1.ClusterPartition) (bool, error) {
		switch {
		case p.GetMoveTo() == to:
			began = true
			return false, nil
		case replicaOn(p, to) != nil && replicaOn(p, from) == nil:
			return true, nil
		case !began:
			return false, nil // what the node has seen last is older than the move
		}
		return false, fmt.Errorf("the move of partition %d to node %s was given up: rondo cluster status may say why", p.GetNumber(), to)
	}
}

func replicaOn(p *rondov1.ClusterPartition, node string) *rondov1.ClusterReplica {
	for _, r := range p.GetReplicas() {
		if r.GetNode() == node {
			return r
		}
	}
	return nil
}
