package data

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/engine/core"
)

func NewCheck(c *cli.Factory) *cobra.Command {
	var format string
	var mend bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check every invariant of the database",
		Long: `Check every invariant of the database and print what is broken. The exit code is 1 if anything is.

With --repair what can be read of a damaged database, and of its log, is copied into a new one in its place, as rondo salvage copies it.
The damaged one is kept beside it as rondo.bolt.damaged-1 and wal.damaged-1 (-2 and so on). It prints what was found, how many series
were copied, and what is lost. The disk needs room for both. No server may run. A repair that is killed is done again, or ended, by
the next one.`,
		Args: cli.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if mend {
				return repair(cmd, c, format)
			}
			return c.Target().Read(cmd.Context(), func(db *backend.Database) error { return check(cmd.Context(), c, db, format) })
		},
	}
	cli.AddOutput(cmd, &format)
	cmd.Flags().BoolVar(&mend, "repair", false, "put what can be read into a new database, in place of a damaged one")
	return cmd
}

// check prints what is broken.
func check(ctx context.Context, c *cli.Factory, db *backend.Database, format string) error {
	problems, err := db.Check(ctx)
	if err != nil {
		return err
	}
	if len(problems) == 0 {
		if format == table.Formats[0] {
			_, err = fmt.Fprintln(c.Stdout, "no problem found")
		}
		return err
	}
	w := table.New(c.Stdout, format, "where", "what")
	for _, p := range problems {
		w.Row(p.Where, p.What)
	}
	return cmp.Or(w.Close(), cli.ExitCode(1))
}

// repair makes a damaged database usable and prints a line for each change.
func repair(cmd *cobra.Command, c *cli.Factory, format string) error {
	t, err := here(c, "check --repair")
	if err != nil {
		return err
	}
	got, err := core.Repair(cmd.Context(), t.DB, core.Options{})
	switch {
	case err != nil:
		return err
	case len(got.Found) == 0:
		if format == table.Formats[0] {
			done := "no problem found: nothing was changed"
			if got.Ended {
				done = "a repair that was killed is complete: the new database is in its place"
			}
			_, err = fmt.Fprintln(c.Stdout, done)
		}
		return err
	}
	w := table.New(c.Stdout, format, "what", "details")
	for _, p := range got.Found {
		w.Row("found", p.String())
	}
	salvagedRows(w, got.Salvaged)
	for _, name := range got.Aside {
		w.Row("kept aside", name)
	}
	return w.Close()
}

// salvagedRows prints what was copied and what is lost.
func salvagedRows(w *table.Writer, got core.Salvaged) {
	w.Row("copied", fmt.Sprintf("%d series", got.Series))
	for _, text := range got.Lost {
		w.Row("lost", text)
	}
}
