package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
)

const pipeHelp = `Run commands from standard input, one a line, for a program that reads the answers: numbers in full,
and every answer with its length before it. contrib/ has what speaks it, docs/clients.md what is said.

Without a server it ends when nothing was asked for a while, so that others come to the database.`

// newPipe returns the command rondo pipe, which runs commands for a program.
func newPipe(c *common) *cobra.Command {
	return &cobra.Command{
		Use:   "pipe [FOLDER]",
		Short: "Run commands from standard input, for programs",
		Long:  pipeHelp,
		Args:  takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t := c.target()
			t.Strict, t.Notice = true, nil
			return exitCode(runPipe(cmd.Context(), c.process, t, strings.Join(args, ""), backend.FramedPipe))
		},
	}
}
