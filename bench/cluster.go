package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/bench/internal/clusterbench"
)

func newCluster(common *common) *cobra.Command {
	o := clusterbench.Config{}
	var dir, nats string
	var minutes int
	var asJSON bool
	c := &cobra.Command{
		Use:   "cluster",
		Short: "Compare a cluster on this machine with one store",
		Long: `Puts a load on a store of its own process (one machine), on a store that receives it from
this process as a node does (one node), and then on a cluster: three nats-servers that sync
always, and nodes of rondo, each a process of this machine. The driver finds the leaders of
the partitions as a node does, and sends each its samples. A batch has samples of all
partitions, and counts when the last of them is acknowledged.

Then it reads through the nodes and through a server of one machine with the same samples,
whose rows must be equal; sends at half of the rate; and stops a node, sends again, and
measures how the node catches up.

CPU is processor time for a million samples; that of rondo's nodes includes what followers
apply, and that of one machine what the driver takes. Ratios are the cluster's to the
column before them, in the same run.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			o.Readings = minutes * 6
			if err := o.Validate(); err != nil {
				return err
			}
			if o.Rondo, err = common.findRondo(); err != nil {
				return err
			}
			if o.NATS, err = exec.LookPath(nats); err != nil {
				return fmt.Errorf("%w (go install github.com/nats-io/nats-server/v2@v2.15.2 makes it, --nats-server says where it is)", err)
			}
			var clean func() error
			if o.Dir, clean, err = workFolder(dir); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, clean()) }()
			began := time.Now()
			o.Say = func(format string, args ...any) {
				// The figures matter.
				_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "rondo-bench: %3.0f s: "+format+"\n", append([]any{time.Since(began).Seconds()}, args...)...)
			}
			r, err := clusterbench.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
			}
			return clusterbench.WriteText(cmd.OutOrStdout(), &r)
		},
	}
	addClusterFlags(c.Flags(), &o)
	c.Flags().StringVar(&nats, "nats-server", "nats-server", "the nats-server `program`, 2.15.2 or newer")
	c.Flags().StringVar(&dir, "dir", "", "`folder` to work in, new or empty (default: a temporary one, removed afterwards)")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().IntVar(&minutes, "minutes", 60, "minutes of readings, one every 10 s, at full speed, and again while a node is away")
	return c
}

// newStore returns the hidden command that cluster starts in a separate process.
func newStore() *cobra.Command {
	return &cobra.Command{
		Use:    "store FOLDER ADDRESS TOKEN-FILE",
		Hidden: true,
		Args:   cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			token, err := os.ReadFile(args[2])
			if err != nil {
				return err
			}
			return clusterbench.ServeStore(cmd.Context(), args[0], args[1], string(token))
		},
	}
}

func addClusterFlags(f *pflag.FlagSet, o *clusterbench.Config) {
	f.IntVar(&o.Nodes, "nodes", 3, "nodes of the cluster")
	f.IntVar(&o.Partitions, "partitions", 16, "partitions of the cluster")
	f.IntVar(&o.Replicas, "replicas", 2, "nodes that keep each partition")
	f.IntVar(&o.Series, "series", 100_000, "number of series, rounded up to whole hosts of 100")
	f.IntVar(&o.Half, "half-seconds", 10, "how long samples are sent at half of the rate")
	f.IntVar(&o.Fetches, "fetches", 1000, "series that are fetched, one at a time")
	f.IntVar(&o.Layout.Archives, "archives", 5, "archives of a series: 5, or 15 as collectd makes them")
	f.IntVar(&o.Layout.Sources, "sources", 1, "data sources of a series: 1, 2, 4 or 5")
	f.IntVar(&o.Batch, "batch", 5000, "samples of a batch, rounded up to whole hosts")
	f.IntVar(&o.Under, "under", 64, "batches on their way")
	f.IntVar(&o.Senders, "senders", 2*runtime.GOMAXPROCS(0), "goroutines that send")
	f.Uint64Var(&o.Seed, "seed", 1, "what the readings follow from")
}
