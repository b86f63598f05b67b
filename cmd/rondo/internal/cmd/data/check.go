package data

import (
	"cmp"
	"context"
	"fmt"
	"time"

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

func NewCompact(c *cli.Factory) *cobra.Command {
	return cli.Printing(&cobra.Command{
		Use:   "compact",
		Short: "Give free space in the database's file back to the file system",
		Long: `Make the database's file as small as what it holds, and print its size before and after, in bytes, and the
seconds that it took.

Space of dropped series and of old rows is used again for new ones, but the file stays as large as it once was. compact
copies the database into a second file beside it, rondo.bolt.compacting, which then takes its place. No server may run; a
server compacts its database when it starts, if more than half of the file is free. The disk needs room for both files: if
it is too small, the command refuses and says how much is missing. A command that is killed leaves the database as it was,
and the next start removes the half-made copy.

rondo stats tells database_bytes and database_free_bytes.`,
		Args: cli.Takes(0, 0),
	}, table.Formats, func(ctx context.Context, format string, _ []string) error {
		t, err := here(c, "compact")
		if err != nil {
			return err
		}
		done, err := core.Compact(ctx, t.DB, core.Options{})
		if err != nil {
			return err
		}
		w := table.New(c.Stdout, format, "before", "after", "seconds")
		w.Row(done.Before, done.After, done.Took.Round(time.Millisecond).Seconds())
		return w.Close()
	})
}

func NewSalvage(c *cli.Factory) *cobra.Command {
	return cli.Printing(&cobra.Command{
		Use:   "salvage OLD NEW",
		Short: "Copy what can be read of a damaged database into a new one",
		Long: `Copy every series that can be read of the database in the folder OLD, and of its log, with rows, state, labels, metadata and notes, into
a new database in the folder NEW, which must be empty or not there yet. OLD stays as it is. Rows that cannot be read are unknown in NEW.
A series whose state cannot be read begins at the end of its newest stored row. The log is replayed up to the first record that cannot
be read, or that may mean another series because the series it meant is lost. It prints how many series were copied, and a line for
whatever was left out. No server may run on OLD.`,
		Args: cli.Takes(2, 2),
	}, table.Formats, func(ctx context.Context, format string, args []string) error {
		if !backend.IsDatabase(args[0]) {
			return fmt.Errorf("there is no database in %s", args[0])
		}
		got, err := core.Salvage(ctx, args[0], args[1], core.Options{})
		if err != nil {
			return err
		}
		w := table.New(c.Stdout, format, "what", "details")
		salvagedRows(w, got)
		return w.Close()
	})
}
