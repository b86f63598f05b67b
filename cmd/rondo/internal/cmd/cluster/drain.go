package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

const clusterDrainHelp = `Move all replicas of a node to other nodes, so that it can be taken away without a partition that lacks a replica. It waits until
the node has none, and prints how many are left.

  rondo cluster drain c                  node c is emptied; then it can be stopped
  rondo cluster drain --wait=false c     the same, without waiting
  rondo cluster drain --undo c           node c keeps what it has, and gets replicas again
  rondo cluster drain --forget c         node c, which is silent and empty, is listed no more

It is refused if the other nodes are fewer than a partition has replicas. A command that is stopped while it waits has drained all the same: the nodes go on.
A node that is only restarted needs no drain: it hands on what it leads.`

// A draining is a run of rondo cluster drain.
type draining struct {
	operating
	undo, forget, wait bool
}

func newClusterDrain(c *cli.Factory) *cobra.Command {
	d := &draining{operating: operating{Factory: c}}
	cmd := &cobra.Command{
		Use:   "drain NODE",
		Short: "Move all replicas of a node to other nodes",
		Long:  clusterDrainHelp,
		Args: func(cmd *cobra.Command, args []string) error {
			if d.undo && d.forget {
				return errors.New("--undo and --forget contradict each other")
			}
			return cli.Takes(1, 1)(cmd, args)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return d.completeState(cmd, nodeNames)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.BoolVar(&d.undo, "undo", false, "let the node keep its replicas, and get more")
	f.BoolVar(&d.forget, "forget", false, "list a node no more that is silent and has no replica")
	f.BoolVar(&d.wait, "wait", true, "wait until the node has no replica")
	f.Var(&d.timeout, "timeout", "how long to wait at most; 0: without end")
	d.addDirect(f)
	return cmd
}

func (d *draining) run(ctx context.Context, node string) error {
	return d.with(ctx, func(ctx context.Context, api rondov1.ClusterCalls) error {
		_, err := api.Drain(ctx, &rondov1.DrainRequest{Node: node, Undo: d.undo, Forget: d.forget})
		switch {
		case err != nil:
			return backend.Explain(err)
		case d.undo:
			return d.say("node %s stays, and gets replicas again", node)
		case d.forget:
			return d.say("node %s is forgotten", node)
		case !d.wait:
			return d.say("node %s is to leave: rondo cluster nodes shows how many replicas it has left", node)
		}
		return d.await(ctx, api, node)
	})
}

// await waits until a node has no replica.
func (d *draining) await(ctx context.Context, api rondov1.ClusterCalls, node string) error {
	told := ""
	return d.poll(ctx, api, func(st *rondov1.ClusterState) (bool, error) {
		n := nodeOf(st, node)
		switch {
		case n == nil:
			return false, fmt.Errorf("node %s was forgotten", node)
		case n.GetState() == "left":
			return true, d.say("node %s has no replica: it can be stopped", node)
		case told != "" && (n.GetState() == "live" || n.GetState() == "stopping"):
			return false, fmt.Errorf("node %s is to leave no more: somebody has undone it", node)
		case n.GetState() == "live": // what the node that answers has seen last is older
			return false, nil
		}
		now := fmt.Sprintf("node %s: replicas left %d, leads %d", node, n.GetReplicas(), n.GetLeads())
		if now == told {
			return false, nil
		}
		told = now
		return false, d.say("%s", now)
	})
}

func nodeOf(st *rondov1.ClusterState, name string) *rondov1.ClusterNode {
	for _, n := range st.GetNodes() {
		if n.GetName() == name {
			return n
		}
	}
	return nil
}
