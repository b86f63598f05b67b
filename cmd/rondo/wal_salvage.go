package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/engine/core"
)

func newWALSalvage(c *common) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "salvage",
		Short: "Give up what cannot be read of a damaged log",
		Long: `Make a database openable again whose log is damaged, cut or missing: what the database holds, and what can be read of the log
behind it up to the damage, is kept; the rest is given up. Without --yes nothing is changed: it prints what would be kept and given up. The
damaged log is not deleted but renamed to wal.damaged-1 (-2 and so on) in the database's folder. If the missing part turns up again, put it
back before you use this. No server may run.`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			t := c.target()
			if err := t.OnlyHere("wal salvage"); err != nil {
				return err
			}
			if err := t.Here(); err != nil {
				return err
			}
			got, err := core.SalvageLog(cmd.Context(), t.DB, core.Options{}, yes)
			if errors.Is(err, core.ErrWhole) {
				_, err = fmt.Fprintln(c.stdout, "the log is whole: there is nothing to give up")
				return err
			}
			if err != nil {
				return err
			}
			lost := fmt.Sprintf("positions %d to %d, and whatever was logged behind them", got.Last+1, got.Known)
			if got.Known <= got.Last {
				lost = fmt.Sprintf("whatever was logged behind position %d", got.Last)
			}
			_, err = fmt.Fprintf(c.stdout, "damage: %v\nkept: the database up to position %d, and the log behind it up to position %d\ngiven up: %s\n", got.Damage, got.Catalogue, got.Last, lost)
			switch {
			case err != nil:
			case !yes:
				err = errors.New("nothing was changed; --yes does it")
			case got.Aside != "":
				_, err = fmt.Fprintf(c.stdout, "the damaged log is now %s\n", got.Aside)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	return cmd
}
