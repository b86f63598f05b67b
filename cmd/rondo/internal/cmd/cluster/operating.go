package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
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
