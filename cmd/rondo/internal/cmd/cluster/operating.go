package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
	"github.com/rondo-db/rondo/cmd/rondo/internal/clusterflags"
	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// An operating is a run of a command that operates a cluster.
type operating struct {
	*cli.Factory
	clusterflags.Flags
	direct  bool         // it has the flags of addDirect
	timeout cli.Duration // 0: none
}

// addDirect adds the flags by which the servers of NATS are asked instead of a node.
func (o *operating) addDirect(f *pflag.FlagSet) {
	o.direct = true
	o.AddPlace(f, "empty: a node is asked")
}

// with calls fn with the service for operators of the cluster.
func (o *operating) with(ctx context.Context, fn func(context.Context, rondov1.ClusterCalls) error) (err error) {
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(o.timeout))
		defer cancel()
	}
	if o.Servers.URL == "" {
		return o.ask(ctx, func(node *rpc.Client) error { return fn(ctx, node.Cluster) })
	}
	if o.Daemon != "" {
		return cli.Misused("cluster", errors.New("--cluster and --daemon contradict each other: a node is asked, or the servers of NATS"))
	}
	servers, err := o.Apply()
	if err != nil {
		return cli.Misused("cluster", err)
	}
	service, closeAll, err := clustered.Outside(ctx, servers)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, closeAll()) }()
	return fn(ctx, service)
}

// ask calls fn with a node.
func (o *operating) ask(ctx context.Context, fn func(*rpc.Client) error) error {
	err := o.Target().Ask(ctx, fn)
	if o.direct && errors.Is(err, backend.ErrNoServer) {
		err = fmt.Errorf("%w; --cluster nats://HOST:PORT names the servers of NATS", err)
	}
	return err
}

// withState calls fn with the state of the cluster.
func (o *operating) withState(ctx context.Context, fn func(*rondov1.ClusterState) error) error {
	return o.with(ctx, func(ctx context.Context, api rondov1.ClusterCalls) error {
		st, err := clusterState(ctx, api)
		if err != nil {
			return err
		}
		return fn(st)
	})
}

func clusterState(ctx context.Context, api rondov1.ClusterCalls) (*rondov1.ClusterState, error) {
	answer, err := api.State(ctx, &rondov1.ClusterStateRequest{})
	if err != nil {
		return nil, backend.Explain(err)
	}
	return answer, nil
}

// completeState offers what pick finds in the state of the cluster.
func (o *operating) completeState(cmd *cobra.Command, pick func(*rondov1.ClusterState) []cobra.Completion) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp
	ctx, cancel := context.WithTimeout(cmd.Context(), cli.CompleteTime)
	defer cancel()
	var out []cobra.Completion
	err := o.withState(ctx, func(st *rondov1.ClusterState) error {
		out = pick(st)
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return out, directive
}

// say prints a line.
func (o *operating) say(format string, args ...any) error {
	_, err := fmt.Fprintln(o.Stdout, text.Escape(fmt.Sprintf(format, args...)))
	return err
}

// warn prints a line of warning, which nothing depends on.
func (o *operating) warn(line string) {
	_, _ = fmt.Fprintf(o.Stderr, "WARNING: %s\n", text.Escape(line))
}

// clusterEvery is how often a command that waits looks at the cluster.
const clusterEvery = time.Second

// await waits until something is so of a partition.
func (o *operating) await(ctx context.Context, api rondov1.ClusterCalls, partition int32, done func(*rondov1.ClusterPartition) (bool, error)) error {
	return o.poll(ctx, api, func(st *rondov1.ClusterState) (bool, error) {
		if int(partition) >= len(st.GetPartitions()) {
			return false, fmt.Errorf("there is no partition %d any more", partition)
		}
		return done(st.GetPartitions()[partition])
	})
}

// poll looks at the cluster until done reports true, or an error. A look that fails is tried
// again.
func (o *operating) poll(ctx context.Context, api rondov1.ClusterCalls, done func(*rondov1.ClusterState) (bool, error)) error {
	failed := ""
	for {
		st, err := clusterState(ctx, api)
		switch {
		case ctx.Err() != nil:
		case err != nil && connect.CodeOf(err) != connect.CodeUnavailable:
			return err
		case err != nil:
			if failed != err.Error() {
				failed = err.Error()
				o.warn("the cluster cannot be seen, which is tried again: " + failed)
			}
		default:
			if ended, err := done(st); ended || err != nil {
				return err
			}
		}
		if sleep.For(ctx, clusterEvery) != nil {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return errors.New("not done within --timeout; the nodes go on")
			}
			return fmt.Errorf("not waited for any longer; the nodes go on: %w", context.Cause(ctx))
		}
	}
}

func partitionNumber(text string) (int32, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n > math.MaxInt32 {
		return 0, fmt.Errorf("%s is no number of a partition: rondo cluster partitions lists them", cli.Quoted(text))
	}
	return int32(n), nil
}

// nodeNames returns the names of nodes, each with what becomes of it.
func nodeNames(st *rondov1.ClusterState) (all []cobra.Completion) {
	for _, n := range st.GetNodes() {
		all = append(all, cobra.CompletionWithDesc(n.GetName(), n.GetState()))
	}
	return all
}

// partitionNumbers returns the numbers of partitions, each with its leader.
func partitionNumbers(st *rondov1.ClusterState) (all []cobra.Completion) {
	for _, p := range st.GetPartitions() {
		what := "nobody leads"
		if p.GetLeader() != "" {
			what = p.GetLeader() + " leads"
		}
		all = append(all, cobra.CompletionWithDesc(strconv.Itoa(int(p.GetNumber())), what))
	}
	return all
}

func partitionNumbersOf(cmd *cobra.Command, args []string) (all []int32, err error) {
	for _, a := range args {
		n, err := partitionNumber(a)
		if err != nil {
			return nil, &cli.UsageError{Err: err, Help: cmd.CommandPath() + " --help"}
		}
		all = append(all, n)
	}
	return all, nil
}

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

// A mending is a run of rondo cluster mend.
type mending struct {
	operating
	from string
	log  bool
}

func newClusterMend(c *cli.Factory) *cobra.Command {
	m := &mending{operating: operating{Factory: c}}
	cmd := &cobra.Command{
		Use:   "mend --map FOLDER | --log PARTITION NODE",
		Short: "Go on after the servers of NATS have lost what they kept",
		Long: `Go on after servers of NATS have lost what two of three of them kept. rondo cluster status says what is lost.

  rondo cluster mend --cluster nats://HOST:PORT --map /var/lib/rondo/node    the map of partitions, or all of the cluster's bucket
  rondo cluster mend --cluster nats://HOST:PORT --log 3 b                    records of the log of partition 3

--map writes the map that a node has kept in its folder, the one of its --db; take the node that has run last. If the bucket is lost,
stop all nodes first. --log lets the replica on NODE begin the log anew behind what it holds. Take the one that holds most: what no replica
held is lost.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if m.log == (m.from != "") {
				return errors.New("one of --map FOLDER and --log is needed")
			}
			n := 0
			if m.log {
				n = 2
			}
			return cli.Takes(n, n)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return m.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.StringVar(&m.from, "map", "", "write the map of partitions that the node in `folder` has kept")
	f.BoolVar(&m.log, "log", false, "let the replica on NODE begin the log of PARTITION anew")
	m.AddPlace(f, "they are needed")
	return cmd
}

func (m *mending) run(ctx context.Context, args []string) error {
	if m.Servers.URL == "" {
		return cli.Misused("cluster mend", errors.New("--cluster nats://HOST:PORT,… is needed: it says which cluster"))
	}
	servers, err := m.Apply()
	if err != nil {
		return cli.Misused("cluster mend", err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	if m.log {
		partition, err := partitionNumber(args[0])
		if err == nil {
			err = clustered.BeginLog(ctx, servers, int(partition), args[1])
		}
		if err != nil {
			return err
		}
		return m.say("the replica on node %s is to begin the log of partition %d anew", args[1], partition)
	}
	version, err := clustered.WriteMap(ctx, servers, filepath.Join(m.from, backend.ReplicasFolder))
	if err != nil {
		return err
	}
	return m.say("the servers have version %d of the map of partitions", version)
}
