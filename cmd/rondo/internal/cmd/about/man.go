package about

import (
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/manual"
)

// The sections at the end of each manual page.
var manualTail = []manual.Section{
	{Title: "ENVIRONMENT", Text: `Every option of rondo serve is also a variable: --max-series is RONDO_MAX_SERIES. An option on the command line takes precedence over
the variable, and the variable over the configuration file. RONDO_DB names the database's folder, RONDO_DAEMON a server
elsewhere, RONDO_DAEMON_PASSWORD and RONDO_DAEMON_TOKEN what that server asks for, RONDO_CONFIG the configuration file, RONDO_BASE the folder below which the names of files are names of series.`},
	{Title: "FILES", Text: `  /etc/rondo/rondo.yaml         the configuration, for the server and every command
  ~/.config/rondo/rondo.yaml    one's own, in its place
  ./rondo.db                    the database, where nothing else is named`},
}

// NewMan returns the command that writes the manual pages of root and the commands below it.
func NewMan(c *cli.Factory, root func() *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write manual pages",
		Long: `Write a manual page for each command into FOLDER: rondo.1, rondo-serve.1 and so on. man -l FOLDER/rondo-serve.1 shows one; in
/usr/local/share/man/man1 man finds them by their name.`,
		Args: cli.Takes(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			date, err := buildDate(c.Process)
			if err != nil {
				return err
			}
			b := manual.Book{Version: cli.Version(), Date: date, Tail: manualTail}
			n, err := b.Write(args[0], root())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.Stdout, "%d pages\n", n)
			return err
		},
	}
}

// buildDate returns the time that SOURCE_DATE_EPOCH names, else the time of the commit that the
// program was built from, else the zero time. Pages are then the same whenever they are written.
func buildDate(p *cli.Process) (time.Time, error) {
	if v := p.Getenv("SOURCE_DATE_EPOCH"); v != "" {
		s, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
		return time.Unix(s, 0), nil
	}
	t, err := time.Parse(time.RFC3339, cli.ThisBuild().Time)
	if err != nil {
		return time.Time{}, nil // not recorded
	}
	return t, nil
}

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

func NewVersion(c *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cli.Takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			b := cli.ThisBuild()
			_, err := fmt.Fprintf(c.Stdout, "rondo %s %s %s/%s%s\n", b.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, b.More())
			return err
		},
	}
}
