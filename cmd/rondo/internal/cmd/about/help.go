package about

import (
	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
)

// NewHelp returns the command help, which refuses unknown commands.
func NewHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Say how a command is used",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var names []cobra.Completion
			if at, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, c := range at.Commands() {
					if c.IsAvailableCommand() {
						names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			at, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 && at.HasSubCommands() {
				err = cli.UnknownCommand(at, rest[0])
			}
			if err != nil {
				return &cli.UsageError{Err: err, Help: "rondo help"}
			}
			at.InitDefaultHelpFlag()
			return at.Help()
		},
	}
}
