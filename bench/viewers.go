package main

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/bench/internal/rrdtoolbench"
)

func newViewers(common *common) *cobra.Command {
	o := rrdtoolOptions{comparison: comparison{common: common, alone: true}}
	var viewers, series int
	var seconds float64
	c := &cobra.Command{
		Use:   "viewers",
		Short: "Measure appends while many look at graphs",
		Long: `Starts "rondo serve" and writes samples of many series to it, one Write after the other,
as fast as it takes them: first alone, then while viewers ask for graphs, each for
another one as soon as it has its answer. Twenty viewers share an address. A Write is
acknowledged when it is on the disk.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd, func(p rrdtoolbench.Programs) (any, func(io.Writer) error, error) {
				r, err := rrdtoolbench.Viewers(cmd.Context(), rrdtoolbench.ViewersConfig{
					Programs: p, Viewers: viewers, Series: series, Length: time.Duration(seconds * float64(time.Second)),
				})
				return r, func(w io.Writer) error { return rrdtoolbench.WriteViewers(w, r) }, err
			})
		},
	}
	c.Flags().StringVar(&o.dir, "dir", "", "the `folder` to work in, new or empty (default: a temporary one)")
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	c.Flags().IntVar(&viewers, "viewers", 1000, "how many look at graphs at once")
	c.Flags().IntVar(&series, "series", 1000, "series, and samples of a Write")
	c.Flags().Float64Var(&seconds, "seconds", 10, "length of each of the two parts")
	return c
}
