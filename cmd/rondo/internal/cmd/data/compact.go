package data

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/engine/core"
)

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
