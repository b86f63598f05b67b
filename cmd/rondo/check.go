package main

import (
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

func newCheck(c *common) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check every invariant of the database",
		Long:  "Check every invariant of the database and print what is broken. The exit code is 1 if anything is.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			o, err := c.target().must(cmd.Context(), core.Options{ReadOnly: true})
			if err != nil {
				return err
			}
			defer func() { err = firstError(err, o.close()) }()
			problems, err := o.check(cmd)
			if err != nil {
				return err
			}
			if len(problems) == 0 {
				if format == table.Formats[0] {
					_, err = fmt.Fprintln(c.stdout, "no problem found")
				}
				return err
			}
			w, err := table.New(c.stdout, format, "where", "what")
			if err != nil {
				return err
			}
			for _, p := range problems {
				if err := w.Row(p.Where, p.What); err != nil {
					return err
				}
			}
			return firstError(w.Close(), exitError(1))
		},
	}
	addOutput(cmd, &format)
	return cmd
}

func (o *opened) check(cmd *cobra.Command) ([]core.Problem, error) {
	if o.store != nil {
		return o.store.Check(cmd.Context())
	}
	stream, err := o.client.Local.Check(cmd.Context(), connect.NewRequest(&rondov1.CheckRequest{}))
	if err != nil {
		return nil, explain(err)
	}
	defer func() { _ = stream.Close() }() // an error of it would say nothing new
	var problems []core.Problem
	for stream.Receive() {
		problems = append(problems, core.Problem{Where: stream.Msg().GetWhere(), What: stream.Msg().GetWhat()})
	}
	if err := stream.Err(); err != nil {
		return nil, explain(err)
	}
	return problems, nil
}
