package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/engine/core"
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
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if mend {
				return repair(cmd, c, format)
			}
			o, err := c.target().Must(cmd.Context(), core.Options{ReadOnly: true})
			if err != nil {
				return err
			}
			defer func() { err = cmp.Or(err, o.Close()) }()
			problems, err := o.Check(cmd.Context())
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
			return cmp.Or(w.Close(), exitCode(1))
		},
	}
	addOutput(cmd, &format)
	cmd.Flags().BoolVar(&mend, "repair", false, "put what can be read into a new file, in place of a damaged database")
	return cmd
}

// repair makes a damaged database usable and prints a line for each change.
func repair(cmd *cobra.Command, c *common, format string) error {
	t := c.target()
	if err := t.OnlyHere("check --repair"); err != nil {
		return err
	}
	if err := t.Here(); err != nil {
		return err
	}
	got, err := core.Repair(cmd.Context(), t.DB, core.Options{})
	switch {
	case err != nil:
		return err
	case len(got.Found) == 0:
		if format == table.Formats[0] {
			_, err = fmt.Fprintln(c.stdout, "no problem found: nothing was changed")
		}
		return err
	}
	w, err := table.New(c.stdout, format, "what", "details")
	if err != nil {
		return err
	}
	row := func(what, details string) { err = cmp.Or(err, w.Row(what, details)) }
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
	if got.Aside != "" {
		row("the damaged file", got.Aside)
	}
	if err = cmp.Or(err, w.Close()); err == nil && len(got.Left) > 0 {
		err = exitError(1)
	}
	return err
}
