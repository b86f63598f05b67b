package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/rondo-db/rondo/cmd/rondo/internal/health"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// An outputFormat is the flag --output.
type outputFormat string

func (o *outputFormat) String() string { return string(*o) }
func (o *outputFormat) Type() string   { return "format" }

func (o *outputFormat) Set(text string) error {
	if !slices.Contains(table.Formats, text) {
		return fmt.Errorf("want %s", strings.Join(table.Formats, ", "))
	}
	*o = outputFormat(text)
	return nil
}

// addOutput adds the flag that chooses a format.
func addOutput(cmd *cobra.Command, format *string) {
	*format = table.Formats[0]
	cmd.Flags().VarP((*outputFormat)(format), "output", "o", "output `format`: "+strings.Join(table.Formats, ", "))
	completeFlag(cmd, "output", table.Formats)
}

func newStats(c *common) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Print the store's counters",
		Args:  takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			o, err := c.target().Must(cmd.Context(), core.Options{ReadOnly: true})
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
				m.Version = version()
			}
			if health.MuchFree(m.GetDatabaseBytes(), m.GetDatabaseFreeBytes()) && format == table.Formats[0] {
				// If this fails, the hint cannot be delivered.
				_, _ = fmt.Fprintf(c.stderr, "%d MiB of the database file are free pages: rondo compact gives them back to the file system\n", m.GetDatabaseFreeBytes()>>20)
			}
			return printStats(c, format, m)
		},
	}
	addOutput(cmd, &format)
	return cmd
}

func printStats(c *common, format string, m *rondov1.StatsResponse) error {
	w, err := table.New(c.stdout, format, "name", "value")
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
