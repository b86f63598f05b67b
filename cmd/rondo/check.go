package main

import (
	"errors"
	"fmt"
	"os"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

func newCheck(c *common) *cobra.Command {
	var format string
	var mend bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check every invariant of the database",
		Long: `Check every invariant of the database and print what is broken. The exit code is 1 if anything is.

With --repair what can be read of a damaged database is put into a new file in its place; the damaged one is kept beside it as
rondo.bolt.damaged-1 (-2 and so on). Names, the label index and counts are made anew. Rows and states that cannot be read are made anew
from the log, if it has all of a series. Elsewhere rows become unknown, and a series whose state is lost keeps its stored rows; its values
are known again from the second reading on. It prints what was found, what was made anew, what is lost, and what is left. The exit code is
1 if anything is left. No server may run.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if mend {
				return repair(cmd, c, format)
			}
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
	cmd.Flags().BoolVar(&mend, "repair", false, "put what can be read into a new file, in place of a damaged database")
	return cmd
}

// repair makes a damaged database usable and prints a line for each thing.
func repair(cmd *cobra.Command, c *common, format string) error {
	t := c.target()
	if t.err != nil {
		return t.err
	}
	got, err := core.Repair(cmd.Context(), t.db, core.Options{})
	switch {
	case errors.Is(err, os.ErrNotExist):
		return t.missing()
	case err != nil:
		return err
	case got.Aside == "":
		if format == table.Formats[0] {
			_, err = fmt.Fprintln(c.stdout, "no problem found: nothing was changed")
		}
		return err
	}
	w, err := table.New(c.stdout, format, "what", "details")
	if err != nil {
		return err
	}
	row := func(what, details string) { err = firstError(err, w.Row(what, details)) }
	for _, p := range got.Found {
		row("found", p.String())
	}
	for _, text := range got.Done {
		row("made anew", text)
	}
	for _, text := range got.Lost {
		row("lost", text)
	}
	for _, p := range got.Left {
		row("left", p.String())
	}
	row("the damaged file", got.Aside)
	if err = firstError(err, w.Close()); err == nil && len(got.Left) > 0 {
		err = exitError(1)
	}
	return err
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
