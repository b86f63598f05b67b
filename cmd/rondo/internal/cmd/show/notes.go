package show

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

func NewNotes(c *cli.Factory) *cobra.Command {
	return cli.Printing(&cobra.Command{
		Use:   "notes [KEY]",
		Short: "Print the events kept beside the numbers, such as collectd's notifications",
		Long:  "Print the events kept beside the numbers, oldest first; of one key (a host) or of all.",
		Args:  cli.Takes(0, 1),
	}, table.Formats, func(ctx context.Context, format string, args []string) error {
		return c.Target().Read(ctx, func(db *backend.Database) error {
			answer, err := db.API().Notes(ctx, &rondov1.NotesRequest{Key: strings.Join(args, "")})
			if err != nil {
				return err
			}
			w := table.New(c.Stdout, format, "time", "key", "severity", "text")
			for _, n := range answer.GetNotes() {
				at := time.UnixMicro(n.GetTimeUs()).UTC().Format(time.RFC3339Nano)
				w.Row(at, n.GetKey(), n.GetSeverity(), n.GetText())
			}
			return w.Close()
		})
	})
}
