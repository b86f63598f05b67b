package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/bench/internal/sizebench"
	"github.com/rondo-db/rondo/internal/enginebench"
)

type sizesOptions struct {
	series  []int
	minutes int
	seed    uint64
	memory  int64 // bytes
	dir     string
	json    bool
	svg     string
	layout  enginebench.Layout
}

func newSizes() *cobra.Command {
	o := sizesOptions{memory: 16 << 30}
	c := &cobra.Command{
		Use:   "sizes",
		Short: "What a series costs in stores of several sizes",
		Long: `Does what "rondo bench ingest" does with stores of several sizes, one after the other, each in
a process of its own, and prints what creating, appending, opening, listing and
selecting cost. What grows as the number of series does costs the same a series in all
of them. Ten million series take 12 GB of memory, 25 GB of disk, and minutes.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := c.Flags()
	f.IntSliceVar(&o.series, "series", []int{10_000, 100_000, 1_000_000}, "numbers of series, each rounded up to whole hosts")
	f.IntVar(&o.minutes, "minutes", 5, "minutes of readings, one every 10 s")
	f.IntVar(&o.layout.Archives, "archives", 5, "archives of a series: 5, or 15 as collectd makes them")
	f.IntVar(&o.layout.Sources, "sources", 1, "data sources of a series: 1, 2, 4 or 5")
	f.Uint64Var(&o.seed, "seed", 1, "what the readings follow from")
	f.Int64Var(&o.memory, "memory", o.memory, "bytes of memory that the store may use for series, rows and queues")
	f.StringVar(&o.dir, "dir", "", "folder for the stores, new or empty (default: a temporary one, removed afterwards)")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.StringVar(&o.svg, "svg", "", "draw a picture into this file")
	return c
}

func (o *sizesOptions) run(cmd *cobra.Command) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, remove, err := workFolder(o.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	config := enginebench.Config{
		Dir: dir, Layout: o.layout, Readings: o.minutes * 6, Appenders: 32, Depth: 16, Seed: o.seed,
	}
	child := func(ctx context.Context, arg string) *exec.Cmd {
		return exec.CommandContext(ctx, self, "child", arg)
	}
	config.Options.Memory = o.memory
	var sizes []sizebench.Size
	for _, config.Series = range slices.Sorted(slices.Values(o.series)) {
		s, err := sizebench.Measure(cmd.Context(), config, child)
		if err != nil {
			return err
		}
		sizes = append(sizes, s)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if o.svg != "" {
		if err := o.draw(sizes); err != nil {
			return err
		}
	}
	if o.json {
		e := json.NewEncoder(cmd.OutOrStdout())
		e.SetIndent("", "  ")
		return e.Encode(sizes)
	}
	return sizebench.Write(cmd.OutOrStdout(), sizes)
}

func (o *sizesOptions) draw(sizes []sizebench.Size) error {
	f, err := os.Create(o.svg)
	if err != nil {
		return fmt.Errorf("--svg: %w", err)
	}
	return errors.Join(sizebench.WriteSVG(f, sizes), f.Close())
}

// newChild returns the hidden command that sizes starts in separate processes.
func newChild() *cobra.Command {
	return &cobra.Command{
		Use:    "child ORDER",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return sizebench.Child(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
}
