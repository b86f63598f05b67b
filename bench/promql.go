package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/bench/internal/promqlbench"
	"github.com/rondo-db/rondo/bench/internal/writebench"
)

func newPromQL(common *common) *cobra.Command {
	flags := comparison{common: common}
	var seconds float64
	o := promqlbench.Config{}
	c := &cobra.Command{
		Use:   "promql",
		Short: "Compare queries with those of Prometheus",
		Long: `Starts rondo serve and the installed Prometheus, gives both the same samples by remote
write, and asks both the same queries in turns: sums over all series and of their rates,
an hour at a step of 15 s, single series, series whose label has a prefix, and the values
of a label. Each series has a sample every 15 s for 65 minutes. The program prints, for a
query, the median and the 99th percentile of the time that it takes, and the processor
time that the server uses; then rondo's figures divided by Prometheus'. It fails where
the two find different numbers of series.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Series < 1 || o.Turns < 1 {
				return errors.New("--series and --turns: want 1 or more")
			}
			program, err := flags.findRondo()
			if err != nil {
				return err
			}
			var remove func() error
			if o.Dir, remove, err = workFolder(flags.dir); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, remove()) }()
			o.Length = time.Duration(seconds * float64(time.Second))
			// The figures matter.
			o.Say = func(what string) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), what) }
			o.Programs = []writebench.Program{{Name: "rondo", Start: startRondo(program, queryPolicy)}}
			o.Programs = append(o.Programs, flags.prometheus(cmd)...)
			rs, err := promqlbench.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			if flags.json {
				return promqlbench.WriteJSON(cmd.OutOrStdout(), rs)
			}
			return promqlbench.WriteText(cmd.OutOrStdout(), rs)
		},
	}
	f := c.Flags()
	f.IntVar(&o.Series, "series", 10_000, "number of gauges, and of counters")
	f.Float64Var(&seconds, "seconds", 2, "how long each program is asked each query")
	f.IntVar(&o.Turns, "turns", 4, "turns in which a query is asked")
	flags.addFlags(f)
	return c
}

// queryPolicy keeps the rows of two hours as they come, and longer ones for longer.
const queryPolicy = `policy:
  - path: prometheus/**
    step: 15s
    heartbeat: 45s
    archives: ["RRA:AVERAGE:0.5:15s:2h", "RRA:AVERAGE:0.5:1m:2d", "RRA:AVERAGE:0.5:5m:14d", "RRA:MAX:0.5:5m:14d"]
`
