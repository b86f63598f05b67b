package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/query/rrd/rrdcached/rrdcachedbench"
)

func newBenchRRDCachedCommand() *cobra.Command {
	o := benchRRDCachedOptions{}
	c := &cobra.Command{
		Use:   "rrdcached",
		Short: "Hold the server of rrdcached's protocol against rrdcached",
		Long: `Starts rondo serve and the installed rrdcached (with a journal, as it is advised),
one after the other, and sends both the same through a unix socket: CREATE of all
series, BATCH UPDATE of one value a series and round (flushed and synced every 300 s
of data, which rondo need not be told to), FETCH of 60 rows of one series and of
1,000 at once, rounds that are flushed one by one, and updates that are answered one
by one. Then each is killed again and again, at random moments of a stream of BATCHes
of 50 updates, and asked after another start for every row that it had acknowledged.

Every series has one data source and five archives. The last column is rondo's figure
divided by rrdcached's. Processor time is that of the servers.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := c.Flags()
	f.IntVar(&o.series, "series", 20_000, "series")
	f.IntVar(&o.rounds, "rounds", 240, "rounds of one value a series, 10 s apart")
	f.IntVar(&o.single, "single", 5, "rounds that are flushed one by one")
	f.IntVar(&o.kills, "kills", 50, "how often each server is killed")
	f.Uint64Var(&o.seed, "seed", 0, "of the moments at which it is (0: another each time)")
	f.StringVar(&o.dir, "dir", "", "`folder` of both, new or empty (default: a temporary one, removed afterwards)")
	f.BoolVar(&o.alone, "alone", false, "measure rondo only")
	f.BoolVar(&o.json, "json", false, "print JSON")
	return c
}

type benchRRDCachedOptions struct {
	series, rounds, single, kills int
	seed                          uint64
	dir                           string
	alone, json                   bool
}

func (o *benchRRDCachedOptions) run(cmd *cobra.Command) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, remove, err := benchDir(o.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano())
	}
	_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "seed %d\n", o.seed) // what is printed in the end matters
	config := rrdcachedbench.Config{
		Series: o.series, Rounds: o.rounds, Single: o.single, Kills: o.kills, Seed: o.seed, Dir: dir,
		Rondo: func(ctx context.Context, db, socket, base string) *exec.Cmd {
			args := []string{"serve", "--db", db, "--http", "", "--rrdcached", "unix:" + socket, "--rrdcached-base", base, "--log-level", "warn"}
			for _, p := range protocols {
				args = append(args, "--"+p.Name, "")
			}
			return exec.CommandContext(ctx, self, args...)
		},
		Say: func(what string) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), what) }, // as above
	}
	if !o.alone {
		if config.RRDCached, err = rrdcachedbench.Find(); err != nil {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "rondo: not compared: %v\n", err) // as above
		}
	}
	ms, err := rrdcachedbench.Run(cmd.Context(), config)
	if err != nil {
		return err
	}
	if o.json {
		return rrdcachedbench.WriteJSON(cmd.OutOrStdout(), ms)
	}
	return rrdcachedbench.WriteText(cmd.OutOrStdout(), ms)
}
