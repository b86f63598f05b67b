package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/cmd/rondo/internal/config"
)

// ExitUsage is the exit code of a command that was written wrongly. Verbs of rrdtool have rrdtool's
// exit code, 1.
const ExitUsage = 2

// A UsageError is a mistake in the way a command was written.
type UsageError struct {
	Err  error
	Help string // the command that prints the help
}

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// CheckUsage turns errors of arguments and flags of cmd, and of all commands below it, into usage
// errors.
func CheckUsage(cmd *cobra.Command) {
	wrong := func(cmd *cobra.Command, err error) error {
		if err == nil {
			return nil
		}
		return &UsageError{err, cmd.CommandPath() + " --help"}
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return wrong(cmd, plainFlagError(err)) })
	if !cmd.Runnable() { // cobra does not check the arguments of such a command
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	args := cmd.Args
	if cmd.HasSubCommands() {
		args = knownCommand(args)
	}
	if args != nil {
		cmd.Args = func(cmd *cobra.Command, a []string) error { return wrong(cmd, args(cmd, a)) }
	}
	for _, c := range cmd.Commands() {
		CheckUsage(c)
	}
}

// GlobalFlagsOnce makes the help of the commands below root name the flags that every command has,
// and leaves their list to root's.
func GlobalFlagsOnce(root *cobra.Command) {
	usage := root.UsageFunc()
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		if !cmd.HasParent() {
			return usage(cmd)
		}
		root.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = true })
		err := usage(cmd)
		root.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = false })
		if err == nil {
			_, err = fmt.Fprintln(cmd.OutOrStderr(), "\nFor the flags of every command, such as --db and --daemon: rondo --help")
		}
		return err
	})
}

// Misused turns err into a usage error of a command such as "send collectd"; nil stays nil. An
// error about a file stays unchanged, because it is no mistake in the way the command was written.
func Misused(command string, err error) error {
	if _, file := errors.AsType[*fs.PathError](err); err == nil || file {
		return err
	}
	return &UsageError{err, "rondo " + command + " --help"}
}

// Unlimited means any number of arguments.
const Unlimited = -1

// Takes checks how many arguments a command gets: from least to most.
func Takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		usage := cmd.Use
		if parent := cmd.Parent(); parent != nil {
			usage = parent.CommandPath() + " " + usage
		}
		switch {
		case len(args) < least:
			return fmt.Errorf("an argument is missing: %s", usage)
		case most != Unlimited && len(args) > most:
			return fmt.Errorf("%s is one argument too many: %s", Quoted(args[most]), usage)
		}
		return nil
	}
}

// plainFlagError replaces a library's error for a number or a switch by one in the terms of the
// command line.
func plainFlagError(err error) error {
	value, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	if why := config.Unread(err); why != "" {
		return fmt.Errorf("--%s: %s %s", value.GetFlag().Name, Quoted(value.GetValue()), why)
	}
	return fmt.Errorf("--%s %s: %w", value.GetFlag().Name, Quoted(value.GetValue()), errors.Unwrap(value))
}

// knownCommand refuses the name of an unknown command and suggests similar ones. "-" is pipe mode.
func knownCommand(then cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || args[0] == "-" {
			if then == nil {
				return nil
			}
			return then(cmd, args)
		}
		return UnknownCommand(cmd, args[0])
	}
}

// UnknownCommand returns the error for an unknown command below cmd, with the names of similar
// ones.
func UnknownCommand(cmd *cobra.Command, name string) error {
	text := fmt.Sprintf("unknown command %q for %q", name, cmd.CommandPath())
	if cmd.SuggestionsMinimumDistance == 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	if similar := cmd.SuggestionsFor(name); len(similar) > 0 {
		text += "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return errors.New(text)
}

// PathError returns an error of the file system without the names of files.
func PathError(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	if at, ok := errors.AsType[*os.LinkError](err); ok {
		return at.Err
	}
	return err
}
