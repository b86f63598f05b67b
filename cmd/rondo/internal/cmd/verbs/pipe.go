package verbs

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
)

const pipeHelp = `Run commands from standard input, one a line, for a program that reads the answers: numbers in full,
and every answer with its length before it. contrib/ has what speaks it, docs/clients.md what is said.

Without a server it ends when nothing was asked for a while, so that others come to the database.`

// NewPipe returns the command rondo pipe, which runs commands for a program.
func NewPipe(c *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "pipe [FOLDER]",
		Short: "Run commands from standard input, for programs",
		Long:  pipeHelp,
		Args:  cli.Takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t := c.Target()
			t.Strict, t.Notice = true, nil
			return cli.ExitCode(RunPipe(cmd.Context(), c.Process, t, strings.Join(args, ""), backend.FramedPipe))
		},
	}
}
