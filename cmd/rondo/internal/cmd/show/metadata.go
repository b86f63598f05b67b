package show

import (
	"cmp"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

const metadataHelp = `Print what is known of paths beside their numbers, in order of the paths: the newest text of a metric that is no number, units,
descriptions and what else a protocol says, and after how many seconds of silence a path expires. PREFIX is of the path.`

func NewMetadata(c *cli.Factory) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:               "metadata [PREFIX]",
		Short:             "Print texts, units and descriptions kept beside the numbers",
		Long:              metadataHelp,
		Args:              cli.Takes(0, 1),
		ValidArgsFunction: c.CompleteOne,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o, err := c.Target().Must(cmd.Context(), core.Options{ReadOnly: true})
			if err != nil {
				return err
			}
			defer func() { err = cmp.Or(err, o.Close()) }()
			w := table.New(c.Stdout, format, "path", "time", "text", "expire", "expired", "attributes")
			defer func() { err = cmp.Or(err, w.Close()) }()
			req := &rondov1.MetadataRequest{Prefix: strings.Join(args, "")}
			for {
				answer, err := o.API().Metadata(cmd.Context(), connect.NewRequest(req))
				if err != nil {
					return err
				}
				for _, m := range answer.Msg.GetMetadata() {
					metadataRow(w, m)
				}
				if req.Page = answer.Msg.GetNextPage(); req.Page == "" {
					return nil
				}
			}
		},
	}
	cli.AddOutput(cmd, &format)
	return cmd
}

func metadataRow(w *table.Writer, m *typesv1.Metadata) {
	attributes := make([]string, len(m.GetAttributes()))
	for i, a := range m.GetAttributes() {
		attributes[i] = a.GetName() + "=" + a.GetValue()
	}
	at := time.UnixMicro(m.GetTimeUs()).UTC().Format(time.RFC3339Nano)
	w.Row(m.GetPath(), at, m.GetText(), m.GetExpire(), m.GetExpired(), strings.Join(attributes, " "))
}
