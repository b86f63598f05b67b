package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/bench/internal/clusterbench"
	"github.com/rondo-db/rondo/bench/internal/clustermodel"
)

// A model has the flags that its commands share.
type model struct {
	times string
	json  bool
}

func newModel() *cobra.Command {
	m := &model{}
	var o clustermodel.Config
	c := &cobra.Command{
		Use:   "model",
		Short: "Simulate a cluster, to see what it would take",
		Long: `Simulates a cluster of machines with a node of rondo and a nats-server each: the way of
each batch through processors, disks and the one message that each log has under way. It
prints the rate, the processor time, how soon batches are acknowledged, how far followers
are behind, and what is the bottleneck. Nothing is started.

The service times are those that "rondo-bench model times" prints. --times names a file
with other ones.

Without flags it is the cluster of "rondo-bench cluster": everything on one machine.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := m.read()
			if err != nil {
				return err
			}
			r, err := clustermodel.Run(o, t)
			if err != nil {
				return err
			}
			if m.json {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
			}
			return clustermodel.WriteResult(cmd.OutOrStdout(), &r)
		},
	}
	addModelFlags(c.Flags(), &o)
	c.PersistentFlags().StringVar(&m.times, "times", "", "a `file` with service times, in place of those of bench/README.md")
	c.PersistentFlags().BoolVar(&m.json, "json", false, "print JSON")
	c.AddCommand(m.newTimes(), m.newCompare(), m.newSizes())
	return c
}

func addModelFlags(f *pflag.FlagSet, o *clustermodel.Config) {
	f.IntVar(&o.Machine, "machines", 1, "machines, over which nodes, servers and senders are spread")
	f.Float64Var(&o.Cores, "cores", float64(runtime.GOMAXPROCS(0)), "cores of a machine (default: those of this one)")
	f.IntVar(&o.Nodes, "nodes", 3, "nodes of the cluster")
	f.IntVar(&o.Servers, "servers", 3, "nats-servers")
	f.IntVar(&o.Partitions, "partitions", 16, "partitions of the cluster")
	f.IntVar(&o.Replicas, "replicas", 2, "nodes that keep each partition")
	f.IntVar(&o.Batch, "batch", 5000, "samples of a batch")
	f.IntVar(&o.Under, "under", 64, "batches on their way, of all senders")
	f.IntVar(&o.Senders, "senders", 4, "goroutines that send")
	f.Float64Var(&o.Rate, "rate", 0, "samples a second; 0: as many as are taken")
	f.BoolVar(&o.InNodes, "receive", false, "samples come to the nodes in a protocol such as remote write")
	f.BoolVar(&o.Large, "large", false, "nodes hold millions of series each, and write checkpoints")
	f.Float64Var(&o.Seconds, "seconds", 20, "seconds that are simulated and counted")
	f.Uint64Var(&o.Seed, "seed", 1, "what chance follows from")
}

// read returns the service times.
func (m *model) read() (clustermodel.Times, error) {
	t, err := clustermodel.Stored()
	if err != nil || m.times == "" {
		return t, err
	}
	b, err := os.ReadFile(m.times)
	if err != nil {
		return t, err
	}
	if t, err = t.With(b); err != nil {
		return t, fmt.Errorf("%s: %w", m.times, err)
	}
	return t, nil
}

func (m *model) newTimes() *cobra.Command {
	var fit []string
	var scale float64
	var dir string
	c := &cobra.Command{
		Use:   "times",
		Short: "Print the service times of the model, or fit them to runs",
		Long: `Prints the service times as JSON: name, value, unit, what it is, whether it was measured or
fitted, and how.

--fit reads what runs of "rondo-bench cluster --json" have printed and prints service
times that follow from them. The runs, four or more, must differ in --partitions and
--batch. --sync-in measures the syncs of the disk that has a folder.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := m.read()
			if err != nil {
				return err
			}
			if dir != "" {
				if t, err = t.MeasureSyncs(cmd.Context(), dir); err != nil {
					return err
				}
			}
			if len(fit) > 0 {
				var runs []clusterbench.Result
				for _, name := range fit {
					r, err := readRun(name)
					if err != nil {
						return fmt.Errorf("%s: %w", name, err)
					}
					runs = append(runs, r)
				}
				if t, err = t.Fit(runs, scale); err != nil {
					return err
				}
			}
			e := json.NewEncoder(cmd.OutOrStdout())
			e.SetIndent("", "  ")
			return e.Encode(t.List())
		},
	}
	c.Flags().StringSliceVar(&fit, "fit", nil, "`files` with what runs have printed")
	c.Flags().Float64Var(&scale, "scale", 1, "what times of processors that --fit finds are multiplied by, if other programs slowed the runs down")
	c.Flags().StringVar(&dir, "sync-in", "", "measure how long syncs take in a `folder`, which must exist")
	return c
}

func readRun(name string) (r clusterbench.Result, err error) {
	f, err := os.Open(name)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return clustermodel.ReadRun(f)
}

func (m *model) newCompare() *cobra.Command {
	return &cobra.Command{
		Use:   "compare",
		Short: "Compare the model with runs of a cluster",
		Long: `Simulates the runs of "rondo-bench cluster" that bench/README.md has, and prints what
was measured beside what the model gives.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := m.read()
			if err != nil {
				return err
			}
			return clustermodel.WriteComparison(cmd.OutOrStdout(), t)
		},
	}
}

func (m *model) newSizes() *cobra.Command {
	return &cobra.Command{
		Use:   "sizes",
		Short: "Print what clusters of several sizes would take",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := m.read()
			if err != nil {
				return err
			}
			all, err := clustermodel.Sizes(t)
			if err != nil {
				return err
			}
			if m.json {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(all)
			}
			return clustermodel.WriteSizes(cmd.OutOrStdout(), all)
		},
	}
}
