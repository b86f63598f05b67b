package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/bench/internal/graphitebench"
)

func newGraphite(common *common) *cobra.Command {
	var carbon string
	compare := comparison{common: common}
	o := graphitebench.Config{ReadyIn: time.Minute, Limit: 10 * time.Minute}
	c := &cobra.Command{
		Use:   "graphite",
		Short: "Send lines of Graphite to rondo, and to go-carbon",
		Long: `Starts "rondo serve" and sends it lines of Graphite over TCP as fast as it takes them;
then the same to go-carbon. Both have one archive a name, of 360 points. A first round
makes the series. The clock runs from the first byte of the second round until
everything is stored: in rondo's log, which is synced, and in go-carbon's files.

go-carbon is left out if it is not installed:
go install github.com/go-graphite/go-carbon@v0.18.0`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Rondo, err = common.findRondo(); err != nil {
				return err
			}
			var clean func() error
			if o.Dir, clean, err = workFolder(compare.dir); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, clean()) }()
			o.Say = func(format string, args ...any) {
				// The figures matter.
				_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "rondo-bench: "+format+"\n", args...)
			}
			o.Carbon = compare.other(cmd, func() (string, error) { return exec.LookPath(carbon) })
			all, err := graphitebench.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			if compare.json {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(all)
			}
			return graphitebench.WriteText(cmd.OutOrStdout(), all)
		},
	}
	compare.addFlags(c.Flags())
	c.Flags().StringVar(&carbon, "go-carbon", "go-carbon", "the go-carbon `program`")
	c.Flags().IntVar(&o.Names, "series", 20_000, "how many names; each round has a point of each")
	c.Flags().IntVar(&o.Rounds, "rounds", 100, "rounds that are measured, at most 359")
	c.Flags().IntVar(&o.Conns, "connections", 2, "connections, which share the names")
	return c
}
