package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

const clusterCheckHelp = `Compare the replicas of all partitions, or of those that are named: whether they hold the same paths, labels, metadata and states, bit for bit.
The replicas take digests of these at the same record of the log, while they are written and read. Stored rows have checksums of their own.

  rondo cluster check
  rondo cluster check 3 7
  rondo cluster check -o json

The exit code is 1 if replicas differ, or if one could not be compared: its node is silent, or it did not come that far within --timeout. A replica
that differs is quarantined by its node, and made anew. rondo check is for the database of one machine.`

// A comparing is a run of rondo cluster check.
type comparing struct {
	*cli.Factory
	format  string
	timeout cli.Duration
}

func newClusterCheck(c *cli.Factory) *cobra.Command {
	x := &comparing{Factory: c, timeout: cli.Duration(10 * time.Minute)}
	cmd := &cobra.Command{
		Use:   "check [PARTITION…]",
		Short: "Compare the replicas of a cluster",
		Long:  clusterCheckHelp,
		Args:  cli.Takes(0, cli.Unlimited),
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return (&operating{Factory: c}).completeState(cmd, partitionNumbers)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			numbers, err := partitionNumbersOf(cmd, args)
			if err == nil && time.Duration(x.timeout) < time.Second {
				err = cli.Misused("cluster check", fmt.Errorf("--timeout %s: want 1s or more", &x.timeout))
			}
			if err != nil {
				return err
			}
			return (&operating{Factory: c}).ask(cmd.Context(), func(node *rpc.Client) error { return x.run(cmd.Context(), node, numbers) })
		},
	}
	cmd.Flags().Var(&x.timeout, "timeout", "how long the replicas of one partition may take")
	cli.AddOutput(cmd, &x.format)
	return cmd
}

func (x *comparing) run(ctx context.Context, node *rpc.Client, partitions []int32) error {
	stream, err := node.Cluster.CheckReplicas(ctx, &rondov1.CheckReplicasRequest{
		Partitions: partitions, TimeoutSeconds: time.Duration(x.timeout).Seconds(),
	})
	if err != nil {
		return backend.Explain(err)
	}
	defer func() { _ = stream.Close() }() // an error of it would say nothing new
	var w *table.Writer
	people := x.format == table.Formats[0]
	if !people {
		w = table.New(x.Stdout, x.format, "partition", "node", "state", "position", "digest", "remark")
	}
	all, replicas, bad := 0, 0, 0
	for stream.Receive() {
		m := stream.Msg()
		all++
		replicas += len(m.GetReplicas())
		if m.GetProblem() != "" {
			bad++
		}
		if !people {
			rows(w, m)
		} else if err := x.line(m); err != nil {
			return err
		}
	}
	if err := stream.Err(); err != nil {
		return backend.Explain(err)
	}
	return x.end(w, all, replicas, bad)
}

// end prints what comes last.
func (x *comparing) end(w *table.Writer, partitions, replicas, bad int) error {
	switch {
	case partitions == 0:
		return errors.New("the cluster has no partition")
	case w != nil:
		if err := w.Close(); err != nil {
			return err
		}
	case bad == 0:
		_, err := fmt.Fprintf(x.Stdout, "%d partitions, %d replicas: all the same\n", partitions, replicas)
		return err
	default:
		if _, err := fmt.Fprintf(x.Stdout, "%d of %d partitions are wrong\n", bad, partitions); err != nil {
			return err
		}
	}
	if bad > 0 {
		return cli.ExitError(1)
	}
	return nil
}

// line prints a line for a partition.
func (x *comparing) line(m *rondov1.CheckReplicasResponse) error {
	o := operating{Factory: x.Factory}
	if m.GetProblem() == "" && len(m.GetReplicas()) == 1 {
		return o.say("partition %d: its only replica is at record %d", m.GetPartition(), m.GetPosition())
	}
	if m.GetProblem() == "" {
		return o.say("partition %d: %d replicas at record %d are the same", m.GetPartition(), len(m.GetReplicas()), m.GetPosition())
	}
	var why []string
	for _, r := range m.GetReplicas() {
		if r.GetReason() != "" {
			why = append(why, r.GetNode()+": "+r.GetReason())
		}
	}
	more := ""
	if len(why) > 0 {
		more = " (" + strings.Join(why, "; ") + ")"
	}
	return o.say("partition %d: %s%s", m.GetPartition(), m.GetProblem(), more)
}

// rows adds a row for each replica of a partition.
func rows(w *table.Writer, m *rondov1.CheckReplicasResponse) {
	if len(m.GetReplicas()) == 0 {
		w.Row(m.GetPartition(), "", "unknown", m.GetPosition(), "", m.GetProblem())
	}
	leader := ""
	for _, r := range m.GetReplicas() {
		if r.GetLeads() {
			leader = r.GetDigest()
		}
	}
	for _, r := range m.GetReplicas() {
		state := "same"
		switch r.GetDigest() {
		case "":
			state = "unknown"
		case leader:
		default:
			state = "differs"
		}
		w.Row(m.GetPartition(), r.GetNode(), state, m.GetPosition(), r.GetDigest(), r.GetReason())
	}
}
