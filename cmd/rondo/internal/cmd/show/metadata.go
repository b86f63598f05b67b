package show

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

const metadataHelp = `Print what is known of paths beside their numbers, in order of the paths: the newest text of a metric that is no number, units,
descriptions and what else a protocol says, and after how many seconds of silence a path expires. PREFIX is of the path.`

func NewMetadata(c *cli.Factory) *cobra.Command {
	return cli.Printing(&cobra.Command{
		Use:               "metadata [PREFIX]",
		Short:             "Print texts, units and descriptions kept beside the numbers",
		Long:              metadataHelp,
		Args:              cli.Takes(0, 1),
		ValidArgsFunction: c.CompleteOne,
	}, table.Formats, func(ctx context.Context, format string, args []string) error {
		return c.Target().Read(ctx, func(db *backend.Database) error {
			w := table.New(c.Stdout, format, "path", "time", "text", "expire", "expired", "attributes")
			req := &rondov1.MetadataRequest{Prefix: strings.Join(args, "")}
			for more := true; more; more = req.GetPage() != "" {
				answer, err := db.API().Metadata(ctx, req)
				if err != nil {
					return cmp.Or(err, w.Close())
				}
				for _, m := range answer.GetMetadata() {
					at := time.UnixMicro(m.GetTimeUs()).UTC().Format(time.RFC3339Nano)
					w.Row(m.GetPath(), at, m.GetText(), m.GetExpire(), m.GetExpired(), strings.Join(words(m.GetAttributes()), " "))
				}
				req.Page = answer.GetNextPage()
			}
			return w.Close()
		})
	})
}

// words returns labels as NAME=VALUE.
func words(ls []*typesv1.Label) (out []string) {
	for _, l := range ls {
		out = append(out, l.GetName()+"="+l.GetValue())
	}
	return out
}
