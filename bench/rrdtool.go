package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/bench/internal/rrdtoolbench"
)

// rrdtoolOptions are the flags that pipe, oneshot and graph share.
type rrdtoolOptions struct {
	comparison
	series []int
}

func newPipe(common *common) *cobra.Command {
	o := rrdtoolOptions{comparison: comparison{common: common}}
	var lines, waits int
	c := &cobra.Command{
		Use:   "pipe",
		Short: "Compare pipe mode with rrdtool's",
		Long: `Sends the same updates to "rrdtool -" and to "rondo rrdtool -", with --sync
interval and always and through a server: first written without waiting, then each
after the answer to the one before it. Every series has one data source and five
archives, and gets a value every 10 s.

Behind each figure is what it is in terms of rrdtool's. Processor time is that of the
program, and of the server where there is one; what reads the answers is not in it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd, func(p rrdtoolbench.Programs) (any, func(io.Writer) error, error) {
				ms, err := rrdtoolbench.Pipe(cmd.Context(), rrdtoolbench.PipeConfig{Programs: p, Series: o.series, Lines: lines, Waits: waits})
				return ms, func(w io.Writer) error { return rrdtoolbench.WritePipe(w, ms) }, err
			})
		},
	}
	o.addFlags(c.Flags())
	c.Flags().IntSliceVar(&o.series, "series", []int{1, 1000}, "`numbers` of series, a case each")
	c.Flags().IntVar(&lines, "lines", 100_000, "updates that are written at once")
	c.Flags().IntVar(&waits, "waits", 5000, "updates that wait for the answer before")
	return c
}

func newOneShot(common *common) *cobra.Command {
	o := rrdtoolOptions{comparison: comparison{common: common}}
	var runs int
	c := &cobra.Command{
		Use:   "oneshot",
		Short: "Compare commands, each a process of its own, with rrdtool's",
		Long: `Runs update, info and fetch (of 60 rows) as processes of their own, and takes the time
from start to end: rrdtool with a file; rondo without a server, on databases as a
server leaves them; the same when 6,000 updates of other series are in the log, which
is about where a command writes a checkpoint; and with a server. Every update is
durable before it ends, but for rrdtool's.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd, func(p rrdtoolbench.Programs) (any, func(io.Writer) error, error) {
				ms, err := rrdtoolbench.OneShot(cmd.Context(), rrdtoolbench.OneShotConfig{Programs: p, Series: o.series, Runs: runs})
				return ms, func(w io.Writer) error { return rrdtoolbench.WriteOneShot(w, ms) }, err
			})
		},
	}
	o.addFlags(c.Flags())
	c.Flags().IntSliceVar(&o.series, "series", []int{10_000, 100_000}, "`numbers` of series, a database each")
	c.Flags().IntVar(&runs, "runs", 200, "runs of each command")
	return c
}

func newGraph(common *common) *cobra.Command {
	o := rrdtoolOptions{comparison: comparison{common: common}}
	var rounds, pictures int
	c := &cobra.Command{
		Use:   "graph",
		Short: "Compare the drawing of graphs with rrdtool's",
		Long: `Draws graphs of 400 x 100 pixels of a year of hourly rows, as SVG and as PNG: three
lines, the same in slope mode, and twenty stacked areas, all with a legend. Programs
that run on draw through "rrdtool -", "rondo -" and GET /graph.svg of "rondo serve".
Others are processes of their own, one a picture: "rrdtool graph" of files, and "rondo
graph" of the same files, of a database, and through a server.

The programs take turns. Every picture shows another year, so that none is shown again.
Processor time is that of the program, and of the server where there is one, a picture;
it is the least of all rounds. Behind it is what it is in terms of rrdtool's.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd, func(p rrdtoolbench.Programs) (any, func(io.Writer) error, error) {
				ms, err := rrdtoolbench.Graph(cmd.Context(), rrdtoolbench.GraphConfig{Programs: p, Rounds: rounds, Pictures: pictures})
				return ms, func(w io.Writer) error { return rrdtoolbench.WriteGraph(w, ms) }, err
			})
		},
	}
	o.addFlags(c.Flags())
	c.Flags().IntVar(&rounds, "rounds", 8, "how often the programs take turns")
	c.Flags().IntVar(&pictures, "pictures", 10, "pictures of a kind that a program draws when it is its turn")
	return c
}

// run measures, and prints what was measured.
func (o *rrdtoolOptions) run(cmd *cobra.Command, measure func(rrdtoolbench.Programs) (any, func(io.Writer) error, error)) (err error) {
	say := func(what string) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), what) } // the figures matter
	p := rrdtoolbench.Programs{Say: say}
	if p.Rondo, err = o.findRondo(); err != nil {
		return err
	}
	dir, remove, err := workFolder(o.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	p.Dir = dir
	p.RRDTool = o.other(cmd, rrdtoolbench.Find)
	ms, write, err := measure(p)
	if err != nil {
		return err
	}
	if !o.json {
		return write(cmd.OutOrStdout())
	}
	e := json.NewEncoder(cmd.OutOrStdout())
	e.SetIndent("", "  ")
	return e.Encode(ms)
}
