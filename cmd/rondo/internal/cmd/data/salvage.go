package data

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/engine/core"
)

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
