package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// exitUsage is the exit code of a command that was not understood. Verbs of rrdtool have rrdtool's,
// 1.
const exitUsage = 2

// A usageError is a mistake in how a command was written, and where to read how it is written.
type usageError struct {
	err  error
	help string // the command that tells more
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// checkUsage makes errors of arguments and flags of cmd, and of all commands below it, usage
// errors.
func checkUsage(cmd *cobra.Command) {
	wrong := func(cmd *cobra.Command, err error) error {
		if err == nil {
			return nil
		}
		return &usageError{err, cmd.CommandPath() + " --help"}
	}
	cmd.SetFlagErrorFunc(wrong)
	args := cmd.Args
	if cmd.HasSubCommands() {
		args = knownCommand(args)
	}
	if args != nil {
		cmd.Args = func(cmd *cobra.Command, a []string) error { return wrong(cmd, args(cmd, a)) }
	}
	for _, c := range cmd.Commands() {
		checkUsage(c)
	}
}

// knownCommand refuses the name of a command that is not there, and suggests similar ones. "-" is
// pipe mode.
func knownCommand(then cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || args[0] == "-" {
			if then == nil {
				return nil
			}
			return then(cmd, args)
		}
		return unknownCommand(cmd, args[0])
	}
}

// unknownCommand says that there is no command of a name below cmd, and which ones are similar.
func unknownCommand(cmd *cobra.Command, name string) error {
	text := fmt.Sprintf("unknown command %q for %q", name, cmd.CommandPath())
	if cmd.SuggestionsMinimumDistance == 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	if similar := cmd.SuggestionsFor(name); len(similar) > 0 {
		text += "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return errors.New(text)
}

// newHelp returns the command help, which refuses what is no command.
func newHelp() *cobra.Command {
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
				err = unknownCommand(at, rest[0])
			}
			if err != nil {
				return &usageError{err, "rondo help"}
			}
			at.InitDefaultHelpFlag()
			return at.Help()
		},
	}
}
