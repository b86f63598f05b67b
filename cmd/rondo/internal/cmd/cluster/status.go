package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

const clusterStatusHelp = `Say whether the cluster is whole: whether each partition has a leader and all its replicas, which are current, and all nodes are there,
and whether the servers of NATS are: each that keeps a log or the map of partitions is to answer, to have JetStream enabled, and to keep up.

  rondo cluster status --daemon http://HOST:9180
  rondo cluster status --cluster nats://n1:4222,nats://n2:4222 || mail …

What is wrong is printed in words, and what is going on, such as moves. An error means that updates or reads wait or that replicas differ, a warning
that the loss of one more node or server may do that. With either the cluster is not whole. The exit code is 0 if it is whole, 1 if it is not
or cannot be asked, and 2 if the command is written wrongly. By --cluster it takes a second or two, and six if a node is silent. What a node says of
the servers of NATS is up to 10 s old. A server that is killed is missing at once if its monitoring port is known, else 6 s later. --cluster-monitor
is for --cluster: a node knows the ports.`

func newClusterStatus(c *cli.Factory) *cobra.Command {
	o := &operating{Factory: c}
	var format string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say whether a cluster is whole",
		Long:  clusterStatusHelp,
		Args:  cli.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(o.Servers.Monitor) > 0 && o.Servers.URL == "" {
				return cli.Misused("cluster status", errors.New("--cluster-monitor is for --cluster: a node knows the monitoring ports"))
			}
			return o.withState(cmd.Context(), func(st *rondov1.ClusterState) error {
				show := o.statusText
				if format != table.Formats[0] {
					show = o.statusJSON
				}
				err := show(st)
				if err == nil && !st.GetWhole() {
					err = cli.ExitError(1)
				}
				return err
			})
		},
	}
	cli.AddFormats(cmd, &format, table.Formats[:2])
	o.addDirect(cmd.Flags())
	o.AddMonitor(cmd.Flags())
	return cmd
}

// clusterTotals are the figures of a state.
type clusterTotals struct {
	Nodes           int `json:"nodes"`
	NodesLive       int `json:"nodes_live"`
	Partitions      int `json:"partitions"`
	PartitionsLed   int `json:"partitions_led"`
	Replicas        int `json:"replicas"` // that there are to be
	ReplicasCurrent int `json:"replicas_current"`
	Moves           int `json:"moves"`
}

func totalsOf(st *rondov1.ClusterState) (t clusterTotals) {
	for _, n := range st.GetNodes() {
		t.Nodes++
		if n.GetSilentSeconds() == 0 {
			t.NodesLive++
		}
		t.ReplicasCurrent += int(n.GetCurrent())
	}
	for _, p := range st.GetPartitions() {
		t.Partitions++
		if p.GetLeader() != "" {
			t.PartitionsLed++
		}
		if p.GetMoveTo() != "" {
			t.Moves++
		}
	}
	t.Replicas = t.Partitions * int(st.GetReplicas())
	return t
}

func (o *operating) statusJSON(st *rondov1.ClusterState) error {
	type problem struct {
		Severity string `json:"severity"`
		Text     string `json:"text"`
	}
	out := struct {
		Cluster string `json:"cluster"`
		Node    string `json:"node,omitempty"` // that has answered
		Whole   bool   `json:"whole"`
		clusterTotals
		Problems []problem `json:"problems"`
	}{st.GetName(), st.GetNode(), st.GetWhole(), totalsOf(st), []problem{}}
	for _, p := range st.GetProblems() {
		out.Problems = append(out.Problems, problem{p.GetSeverity(), p.GetText()})
	}
	b, err := json.MarshalIndent(out, "", " ")
	if err == nil {
		_, err = fmt.Fprintf(o.Stdout, "%s\n", b)
	}
	return err
}

func (o *operating) statusText(st *rondov1.ClusterState) error {
	t := totalsOf(st)
	verdict := "is whole"
	if !st.GetWhole() {
		verdict = "is not whole"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "cluster %s %s\n", st.GetName(), verdict)
	for _, p := range st.GetProblems() {
		fmt.Fprintf(&b, "  %-8s %s\n", p.GetSeverity(), text.Escape(p.GetText()))
	}
	moves := ""
	if t.Moves > 0 {
		moves = fmt.Sprintf(", %d moving", t.Moves)
	}
	fmt.Fprintf(&b, "%d of %d partitions have a leader, %d of %d replicas are current, %d of %d nodes live%s\n",
		t.PartitionsLed, t.Partitions, t.ReplicasCurrent, t.Replicas, t.NodesLive, t.Nodes, moves)
	_, err := fmt.Fprint(o.Stdout, b.String())
	return err
}

const clusterNodesHelp = `List the nodes of a cluster: what becomes of each, how many partitions it leads, how many replicas it has and how many of these are current,
and by how many records these are behind together.

  rondo cluster nodes
  rondo cluster nodes -o json

STATE is live, stopping, leaving (its replicas are to move to others), left (they have), silent, or gone: silent for so long that its replicas
are made anew elsewhere. Figures are up to a second old.`

func newClusterNodes(c *cli.Factory) *cobra.Command {
	o := &operating{Factory: c}
	var format string
	cmd := &cobra.Command{
		Use:   "nodes",
		Short: "List the nodes of a cluster",
		Long:  clusterNodesHelp,
		Args:  cli.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.withState(cmd.Context(), func(st *rondov1.ClusterState) error { return o.nodes(st, format) })
		},
	}
	cli.AddOutput(cmd, &format)
	o.addDirect(cmd.Flags())
	return cmd
}

func (o *operating) nodes(st *rondov1.ClusterState, format string) error {
	people := format == table.Formats[0]
	columns := []string{"node", "state", "leads", "replicas", "current", "lag", "silent_seconds", "started", "address", "zone", "version"}
	if people {
		columns = []string{"node", "state", "leads", "replicas", "current", "lag", "up", "address", "zone", "version"}
	}
	w := table.New(o.Stdout, format, columns...)
	for _, n := range st.GetNodes() {
		silent := time.Duration(n.GetSilentSeconds() * float64(time.Second)).Round(time.Second)
		row := []any{n.GetName(), n.GetState(), n.GetLeads(), n.GetReplicas(), n.GetCurrent(), n.GetLag()}
		if people {
			up := "-"
			if silent > 0 {
				row[1] = fmt.Sprintf("%s %v", n.GetState(), silent)
			} else if n.GetStartedUs() != 0 {
				up = max(o.Now().Sub(time.UnixMicro(n.GetStartedUs())), 0).Round(time.Second).String()
			}
			row = append(row, up, n.GetAddress(), dash(n.GetZone()), n.GetVersion())
		} else {
			started := ""
			if n.GetStartedUs() != 0 {
				started = time.UnixMicro(n.GetStartedUs()).UTC().Format(time.RFC3339)
			}
			row = append(row, n.GetSilentSeconds(), started, n.GetAddress(), n.GetZone(), n.GetVersion())
		}
		w.Row(row...)
	}
	return w.Close()
}

// dash returns text, or a dash in place of none.
func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

const clusterPartitionsHelp = `List the partitions of a cluster, all or those that are named: a line for each replica.

  rondo cluster partitions
  rondo cluster partitions 3 7 -o json
  rondo cluster partitions --wrong      those with which something is wrong

STATE is leads, current, behind, copying (it is being made of a copy), missing, silent (its node is), quarantined (it differs from the others
or is damaged, and is made anew), or halted (it cannot follow the log). POSITION is the record of the log up to which a replica has everything, LAG how many records
it is behind the replica that is furthest, and CHECKPOINT the record up to which it does not need the log any more. The preferred leader
is first. Figures are up to a second old. STREAM is the log at the servers of NATS. REMARK has why a replica cannot read its log, too.`

func newClusterPartitions(c *cli.Factory) *cobra.Command {
	o := &operating{Factory: c}
	var format string
	var wrong bool
	cmd := &cobra.Command{
		Use:   "partitions [PARTITION…]",
		Short: "List the partitions of a cluster and their replicas",
		Long:  clusterPartitionsHelp,
		Args:  cli.Takes(0, cli.Unlimited),
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return o.completeState(cmd, partitionNumbers)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			numbers, err := partitionNumbersOf(cmd, args)
			if err != nil {
				return err
			}
			return o.withState(cmd.Context(), func(st *rondov1.ClusterState) error {
				for _, n := range numbers {
					if int(n) >= len(st.GetPartitions()) {
						return fmt.Errorf("there is no partition %d: the cluster has 0 to %d", n, len(st.GetPartitions())-1)
					}
				}
				return o.partitions(st, format, func(p *rondov1.ClusterPartition) bool {
					return (len(numbers) == 0 || slices.Contains(numbers, p.GetNumber())) && (!wrong || p.GetProblem() != "")
				})
			})
		},
	}
	cmd.Flags().BoolVar(&wrong, "wrong", false, "only partitions with which something is wrong")
	cli.AddOutput(cmd, &format)
	o.addDirect(cmd.Flags())
	return cmd
}

// partitions prints the replicas of the partitions that are wanted.
func (o *operating) partitions(st *rondov1.ClusterState, format string, wanted func(*rondov1.ClusterPartition) bool) error {
	people := format == table.Formats[0]
	w := table.New(o.Stdout, format, "partition", "node", "state", "position", "lag", "checkpoint", "stream", "remark")
	for _, p := range st.GetPartitions() {
		if !wanted(p) {
			continue
		}
		for i, r := range p.GetReplicas() {
			remark := r.GetReason()
			if i == 0 || !people {
				remark = remarkOf(p, r)
			}
			number, stream := any(p.GetNumber()), p.GetStream()
			if people && i > 0 {
				number, stream = "", ""
			}
			w.Row(number, r.GetNode(), r.GetState(), r.GetPosition(), r.GetLag(), r.GetCheckpoint(), stream, remark)
		}
	}
	return w.Close()
}

func remarkOf(p *rondov1.ClusterPartition, r *rondov1.ClusterReplica) string {
	var words []string
	if p.GetProblem() != "" {
		words = append(words, p.GetProblem())
	}
	switch {
	case p.GetMoveTo() != "" && p.GetMoveFrom() != "":
		words = append(words, fmt.Sprintf("moves from %s to %s", p.GetMoveFrom(), p.GetMoveTo()))
	case p.GetMoveTo() != "":
		words = append(words, "gets a replica on "+p.GetMoveTo())
	}
	if p.GetHeld() {
		words = append(words, "held")
	}
	if r.GetReason() != "" {
		words = append(words, r.GetReason())
	}
	return strings.Join(words, "; ")
}
