package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/bench/internal/rrdcachedbench"
)

func newRRDCached(common *common) *cobra.Command {
	o := rrdcachedOptions{comparison: comparison{common: common}}
	c := &cobra.Command{
		Use:   "rrdcached",
		Short: "Compare the server of rrdcached's protocol with rrdcached",
		Long: `Starts rondo serve and the installed rrdcached (with a journal, as it is advised),
one after the other, and sends both the same through a unix socket: CREATE of all
series, an UPDATE of each series a round in BATCHes of up to 1,000 (each connection
keeps two on their way; every 300 s of data are flushed and synced, which rondo need not
be asked to), FETCH of 361 rows of one series and of 1,000 at once, rounds that are
flushed one by one, and updates that are answered one by one. Then each is killed again
and again, at random moments of a stream of BATCHes of 50 updates, and asked after
another start for every row that it had acknowledged.

A host has 20 series and reads them all at its own second of the step. Nine of them are
counters above 2^32, five of these with two data sources; one is a load, with three. The
others are gauges as programs print them: whole numbers, two decimals, "%.15g" (Perl),
"%.17g", Python's repr, and a tenth of all series with an exponent. The last column is
rondo's figure divided by rrdcached's. Processor time is that of the servers, and the
driver's stands apart.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := c.Flags()
	f.IntVar(&o.series, "series", 10_000, "number of series, 20 a host")
	f.IntVar(&o.archives, "archives", 5, "archives of a series: 5, or 15 as collectd makes them")
	f.IntVar(&o.connections, "connections", 2, "number of connections that send the rounds")
	f.IntVar(&o.rounds, "rounds", 390, "number of rounds; each has one update for each series, 10 s after the round before")
	f.IntVar(&o.single, "single", 5, "number of rounds that are flushed one by one")
	f.IntVar(&o.kills, "kills", 50, "how often each server is killed")
	f.Uint64Var(&o.seed, "seed", 0, "of the readings, and of the moments of kills (0: another each time)")
	o.addFlags(f)
	return c
}

type rrdcachedOptions struct {
	comparison
	series, rounds, single, kills int
	archives, connections         int
	seed                          uint64
}

func (o *rrdcachedOptions) run(cmd *cobra.Command) (err error) {
	program, err := o.findRondo()
	if err != nil {
		return err
	}
	dir, remove, err := workFolder(o.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano())
	}
	_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "seed %d\n", o.seed) // the figures matter
	config := rrdcachedbench.Config{
		Series: o.series, Rounds: o.rounds, Archives: o.archives, Connections: o.connections, Single: o.single, Kills: o.kills, Seed: o.seed, Dir: dir,
		Rondo: func(ctx context.Context, db, socket, base string) *exec.Cmd {
			return exec.CommandContext(ctx, program, "serve", "--db", db, "--rrdcached", "unix:"+socket, "--rrdcached-base", base,
				"--http=", "--collectd=", "--gmetric=", "--mono=", "--log-level=warn")
		},
		RRDCached: o.other(cmd, rrdcachedbench.Find),
		Say:       func(what string) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), what) }, // likewise
	}
	ms, err := rrdcachedbench.Run(cmd.Context(), config)
	if len(ms) == 0 {
		return err
	}
	write := rrdcachedbench.WriteText
	if o.json {
		write = rrdcachedbench.WriteJSON
	}
	return errors.Join(err, write(cmd.OutOrStdout(), ms)) // also when it was ended too early
}
