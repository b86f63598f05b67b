package show

import (
	"cmp"
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/health"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

func NewStats(c *cli.Factory) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Print the store's counters",
		Args:  cli.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			o, err := c.Target().Must(cmd.Context(), core.Options{ReadOnly: true})
			if err != nil {
				return err
			}
			defer func() { err = cmp.Or(err, o.Close()) }()
			var m *rondov1.StatsResponse
			if o.Client != nil {
				answer, err := o.Client.Stats(cmd.Context(), connect.NewRequest(&rondov1.StatsRequest{}))
				if err != nil {
					return err
				}
				m = answer.Msg
			} else {
				m = rpc.StatsOf(o.Store.Stats())
				m.Version = cli.Version()
			}
			if health.MuchFree(m.GetDatabaseBytes(), m.GetDatabaseFreeBytes()) && format == table.Formats[0] {
				// If this fails, the hint cannot be delivered.
				_, _ = fmt.Fprintf(c.Stderr, "%d MiB of the database file are free pages: rondo compact gives them back to the file system\n", m.GetDatabaseFreeBytes()>>20)
			}
			return printStats(c, format, m)
		},
	}
	cli.AddOutput(cmd, &format)
	return cmd
}

func printStats(c *cli.Factory, format string, m *rondov1.StatsResponse) error {
	w, err := table.New(c.Stdout, format, "name", "value")
	if err != nil {
		return err
	}
	fields := m.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if err := printField(w, m.ProtoReflect(), fields.Get(i)); err != nil {
			return err
		}
	}
	return w.Close()
}

func printField(w table.Writer, m protoreflect.Message, f protoreflect.FieldDescriptor) error {
	return w.Row(string(f.Name()), m.Get(f).Interface())
}
