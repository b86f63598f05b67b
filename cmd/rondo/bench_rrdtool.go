package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/query/rrd/rrdtool/rrdtoolbench"
)

// benchTool is what bench pipe and bench oneshot have in common.
type benchTool struct {
	dir         string
	alone, json bool
	series      []int
}

func (o *benchTool) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.dir, "dir", "", "`folder` of both, new or empty (default: a temporary one, removed afterwards)")
	f.BoolVar(&o.alone, "alone", false, "measure rondo only")
	f.BoolVar(&o.json, "json", false, "print JSON")
}

func newBenchPipeCommand() *cobra.Command {
	o := benchTool{}
	var lines, waits int
	c := &cobra.Command{
		Use:   "pipe",
		Short: "Hold pipe mode against rrdtool's",
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
	o.addFlags(c)
	c.Flags().IntSliceVar(&o.series, "series", []int{1, 1000}, "`numbers` of series, a case each")
	c.Flags().IntVar(&lines, "lines", 100_000, "updates that are written at once")
	c.Flags().IntVar(&waits, "waits", 5000, "updates that wait for the answer before")
	return c
}

func newBenchOneShotCommand() *cobra.Command {
	o := benchTool{}
	var runs int
	c := &cobra.Command{
		Use:   "oneshot",
		Short: "Hold commands, each a process of its own, against rrdtool's",
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
	o.addFlags(c)
	c.Flags().IntSliceVar(&o.series, "series", []int{10_000, 100_000}, "`numbers` of series, a database each")
	c.Flags().IntVar(&runs, "runs", 200, "runs of each command")
	return c
}

// run measures, and prints what was measured.
func (o *benchTool) run(cmd *cobra.Command, measure func(rrdtoolbench.Programs) (any, func(io.Writer) error, error)) (err error) {
	p := rrdtoolbench.Programs{Say: func(what string) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), what) }} // what is printed in the end matters
	if p.Rondo, err = os.Executable(); err != nil {
		return err
	}
	dir, remove, err := benchDir(o.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if p.Dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if !o.alone {
		if p.RRDTool, err = rrdtoolbench.Find(); err != nil {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "rondo: not compared: %v\n", err) // as above
		}
	}
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
