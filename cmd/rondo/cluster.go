package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

const clusterHelp = `Operate a cluster: several servers that hold one set of series.

The commands ask a node, any of them: the one whose folder --db names, or by --daemon http://HOST:PORT. If no node answers, all but check ask
the servers of NATS themselves: --cluster nats://HOST:PORT names them, as it does for rondo serve.`

// newCluster returns the commands for operators of a cluster.
func newCluster(c *common) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Operate a cluster of servers",
		Long:  clusterHelp,
		Args:  takes(0, 0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, make := range []func(*common) *cobra.Command{
		newClusterStatus, newClusterNodes, newClusterPartitions, newClusterMove, newClusterDrain, newClusterCheck, newClusterInit, newClusterExport,
	} {
		cmd.AddCommand(make(c))
	}
	return cmd
}

// An operating is a run of a command that operates a cluster.
type operating struct {
	*common
	clusterFlags
	direct bool // it has the flags of addDirect
}

// addDirect adds the flags by which the servers of NATS are asked instead of a node.
func (o *operating) addDirect(f *pflag.FlagSet) {
	o.direct = true
	o.addPlace(f, "empty: a node is asked")
}

// A clusterAPI has the methods of the service Cluster that answer with one message. A client of a
// node has them, and so has what works on the servers of NATS.
type clusterAPI interface {
	State(ctx context.Context, req *connect.Request[rondov1.ClusterStateRequest]) (*connect.Response[rondov1.ClusterState], error)
	Move(ctx context.Context, req *connect.Request[rondov1.MoveRequest]) (*connect.Response[rondov1.MoveResponse], error)
	Lead(ctx context.Context, req *connect.Request[rondov1.LeadRequest]) (*connect.Response[rondov1.LeadResponse], error)
	Release(ctx context.Context, req *connect.Request[rondov1.ReleaseRequest]) (*connect.Response[rondov1.ReleaseResponse], error)
	Drain(ctx context.Context, req *connect.Request[rondov1.DrainRequest]) (*connect.Response[rondov1.DrainResponse], error)
}

// with calls fn with the service for operators of the cluster.
func (o *operating) with(ctx context.Context, fn func(clusterAPI) error) (err error) {
	if o.servers.URL == "" {
		node, err := o.node(ctx)
		if err != nil {
			return err
		}
		defer func() { err = cmp.Or(err, node.Close()) }()
		return fn(node.Client.Cluster)
	}
	if o.daemon != "" {
		return &usageError{errors.New("--cluster and --daemon contradict each other: a node is asked, or the servers of NATS"), "rondo cluster --help"}
	}
	servers, err := o.apply()
	if err != nil {
		return misused("cluster", err)
	}
	service, closeAll, err := clustered.Outside(ctx, servers)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, closeAll()) }()
	return fn(service)
}

// node returns the server that is asked.
func (o *operating) node(ctx context.Context) (*backend.Database, error) {
	named := "--daemon http://HOST:PORT names a node"
	if o.direct {
		named += ", --cluster nats://HOST:PORT the servers of NATS"
	}
	t := o.target()
	if missing := t.Here(); t.Daemon == "" && missing != nil {
		return nil, fmt.Errorf("%w. Or %s", missing, named)
	}
	db, err := t.Must(ctx, core.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	if db.Client == nil {
		return nil, errors.Join(errors.New("no server runs in this folder, and a database without a server is in no cluster: "+named), db.Close())
	}
	return db, nil
}

// clusterState returns the state of the cluster.
func clusterState(ctx context.Context, api clusterAPI) (*rondov1.ClusterState, error) {
	answer, err := api.State(ctx, connect.NewRequest(&rondov1.ClusterStateRequest{}))
	if err != nil {
		return nil, backend.Explain(err)
	}
	return answer.Msg, nil
}

// addJSON adds the flag --json, which stands for -o json.
func addJSON(cmd *cobra.Command) {
	cmd.Flags().Bool("json", false, "print JSON: -o json")
	then := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if on, _ := cmd.Flags().GetBool("json"); on {
			if f := cmd.Flag("output"); f.Changed && f.Value.String() != "json" {
				return &usageError{fmt.Errorf("--json and -o %s contradict each other", f.Value), cmd.CommandPath() + " --help"}
			}
			if err := cmd.Flags().Set("output", "json"); err != nil {
				return err
			}
		}
		return then(cmd, args)
	}
}

// partitionNumber reads the number of a partition.
func partitionNumber(text string) (int32, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n > math.MaxInt32 {
		return 0, fmt.Errorf("%s is no number of a partition: rondo cluster partitions lists them", quoted(text))
	}
	return int32(n), nil
}

// completeState offers what pick finds in the state of the cluster.
func (o *operating) completeState(cmd *cobra.Command, pick func(*rondov1.ClusterState) []cobra.Completion) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	var out []cobra.Completion
	err := o.with(ctx, func(api clusterAPI) error {
		st, err := clusterState(ctx, api)
		if err == nil {
			out = pick(st)
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return out, directive
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
