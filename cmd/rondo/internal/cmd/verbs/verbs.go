// Package verbs has the commands whose arguments are rrdtool's: a command for each verb, rondo
// rrdtool, and the pipe modes.
package verbs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// summaries are the descriptions of rrdtool's verbs in the list of commands.
var summaries = map[string]string{
	"create":      "Make a series",
	"update":      "Store samples in a series",
	"updatev":     "Store samples and print the rows they closed",
	"fetch":       "Print the rows of an archive",
	"first":       "Print the time of the first row of an archive",
	"last":        "Print the time of the last update",
	"lastupdate":  "Print the time and the values of the last update",
	"info":        "Print the definition and the state of a series",
	"dump":        "Print a series as XML",
	"restore":     "Make a series of XML",
	"list":        "Print the names of series",
	"xport":       "Print columns of several series side by side",
	"graph":       "Draw a graph",
	"graphv":      "Draw a graph and print its numbers",
	"flushcached": "Apply the samples of series that are held",
	"tune":        "Change the definition of a series",
	"alter":       "Change what a series keeps, with its history",
	"resize":      "Copy a series with more or fewer rows",
}

// examples follow the help of a verb.
var examples = map[string]string{
	"create": `
Examples:
  rondo create cellar/temperature DS:celsius:GAUGE:2min:-50:80 '10s for 1d, 5m for 1y average max'
  rondo create uplink.rrd -s 60 DS:in:COUNTER:120:0:U DS:out:COUNTER:120:0:U RRA:AVERAGE:0.5:1m:1d RRA:MAX:0.5:1h:1y
`,
	"update": `
Examples:
  rondo update cellar/temperature N:21.5
  rondo update uplink.rrd -t in:out 1795262400:1024:2048 1795262460:2048:U
`,
	"fetch": `
Examples:
  rondo fetch cellar/temperature AVERAGE -s -1h
  rondo fetch uplink.rrd MAX -s 'midnight-7d' -e midnight -r 1h
`,
}

// ownHelp makes the help of a command its text and what follows, without cobra's list of flags: the
// text of a verb has its own list, in which -h may be an option. A template of cobra would link
// text/template, which keeps all methods of all types in the program.
func ownHelp(cmd *cobra.Command, follows string) {
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		_, _ = fmt.Fprint(cmd.OutOrStdout(), strings.TrimSpace(cmd.Long)+"\n"+follows) // the last word
	})
}

// NewCommand returns the command for a verb of rrdtool, or for one that is rondo's own. Its
// arguments are passed on as they are; only the flags of every rondo command are taken out.
func NewCommand(c *cli.Factory, verb string) *cobra.Command {
	cmd := &cobra.Command{
		Use:                verb,
		Short:              summaries[verb],
		Long:               verbHelp(verb),
		DisableFlagParsing: true,
		ValidArgsFunction:  completeVerb(c, verb),
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := c.TakeFlags(args, true)
			if err != nil {
				return err
			}
			if isHelp(args) {
				return cmd.Help()
			}
			code := Run(cmd.Context(), c.Process, c.Target(), append([]string{verb}, args...), false)
			if code != 0 {
				hint(cmd.Context(), c, verb, args)
			}
			return cli.ExitCode(code)
		},
	}
	ownHelp(cmd, examples[verb]+"\n--db, --daemon, --sync and --config may stand before a verb or behind it: rondo --help explains them.\n")
	return cmd
}

// verbHelp returns the help of a verb, which is its usage in package rrdtool.
func verbHelp(verb string) string {
	var usage strings.Builder
	call := &backend.Call{Stdout: &usage, Stderr: io.Discard, LookupEnv: os.LookupEnv}
	// The verb help needs no database and cannot fail.
	_, _ = backend.Run(context.Background(), call, backend.Target{}, []string{"help", verb})
	_, text, _ := strings.Cut(usage.String(), "usage: ")
	if slices.Contains(rrdtool.OwnVerbs(), verb) {
		return fmt.Sprintf("%s.\n\n%s", summaries[verb], text)
	}
	return fmt.Sprintf("%s. Arguments, output and exit codes are those of rrdtool %s.\n\n%s", summaries[verb], verb, text)
}

const rrdtoolHelp = `Be rrdtool and nothing else: arguments, output and exit codes are rrdtool's, and so are the verbs. A binary or a symbolic link
called rrdtool is the same.

  rondo [--db FOLDER] rrdtool VERB ARGUMENTS
  rondo [--db FOLDER] rrdtool - [FOLDER]       commands from standard input`

// NewRRDTool returns the command rondo rrdtool, which behaves exactly like rrdtool.
func NewRRDTool(c *cli.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:                "rrdtool",
		Short:              "Be rrdtool and nothing else",
		Long:               rrdtoolHelp,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := c.TakeFlags(args, false)
			if err != nil {
				return err
			}
			return cli.ExitCode(Run(cmd.Context(), c.Process, c.Target(), args, true))
		},
	}
	ownHelp(cmd, "")
	return cmd
}

// completeVerb offers the arguments of one of rrdtool's verbs: its long options, names of series,
// and for the second argument of fetch the consolidation functions.
func completeVerb(c *cli.Factory, verb string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if strings.HasPrefix(word, "--") {
			var options []cobra.Completion
			for _, name := range rrdtool.OptionsOf(verb) {
				if strings.HasPrefix("--"+name, word) {
					options = append(options, "--"+name)
				}
			}
			return options, cobra.ShellCompDirectiveNoFileComp
		}
		args, owed := rrdtool.Positional(verb, args)
		switch {
		case strings.HasPrefix(word, "-"), verb == "restore" && len(args) == 0, verb == "dump" && len(args) == 1 && !owed:
			return nil, cobra.ShellCompDirectiveDefault
		case verb == "fetch" && len(args) == 1 && !owed:
			return cli.Functions, cobra.ShellCompDirectiveNoFileComp
		case owed, len(args) > 1, len(args) == 1 && verb != "restore" && verb != "flushcached":
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.CompleteSeries(cmd, args, word)
	}
}

// ofOne are the verbs whose first argument is a series that there is.
var ofOne = []string{"fetch", "first", "last", "lastupdate", "info", "dump", "update", "updatev", "tune", "alter", "resize"}

// hint prints, behind rrdtool's message of a verb that failed, what rondo has to say about it. If
// that cannot be printed, the message before it says what is wrong.
func hint(ctx context.Context, c *cli.Factory, verb string, args []string) {
	names, owed := rrdtool.Positional(verb, args)
	switch {
	case verb == "list" && slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--json") || a == "-o" }):
		_, _ = fmt.Fprintln(c.Stderr, "list prints names as rrdtool does; rondo query -o json and the RPC's List answer in JSON")
	case !slices.Contains(ofOne, verb) || owed || len(names) == 0:
	case verb == "fetch" && len(names) == 1:
		_, _ = fmt.Fprintf(c.Stderr, "name the function of the rows, too: rondo fetch %s AVERAGE, or MIN, MAX, LAST; rondo show %[1]s prints the newest\n", cli.Quoted(names[0]))
	default:
		nameLike(ctx, c, names[0], args)
	}
}

// nameLike prints, behind rrdtool's message of a verb that failed, which series may have been
// meant. It prints nothing if the series exists, or if the arguments or the environment name a
// daemon of another database.
func nameLike(ctx context.Context, c *cli.Factory, name string, args []string) {
	daemon := func(arg string) bool { return strings.HasPrefix(arg, "-d") || strings.HasPrefix(arg, "--d") }
	if c.Getenv("RRDCACHED_ADDRESS") != "" || slices.ContainsFunc(args, daemon) {
		return
	}
	if _, err := os.Stat(name); err == nil {
		return
	}
	o, err := c.Target().Must(ctx, core.Options{ReadOnly: true})
	if err != nil {
		return // the verb has said so
	}
	defer func() { _ = o.Close() }() // nothing was written
	if p, err := cli.NewPicker(c, o); err == nil {
		if _, err = p.One(ctx, name); errors.Is(err, core.ErrNotFound) {
			_, _ = fmt.Fprintln(c.Stderr, err) // the message before it says what is wrong
		}
	}
}

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

// Run runs one of rrdtool's verbs, or a session of them ("-"), and returns its exit code. With
// plain, a verb prints what rrdtool prints and nothing else.
func Run(ctx context.Context, p *cli.Process, t backend.Target, args []string, plain bool) int {
	if plain {
		t.Notice = nil
	}
	if len(args) > 0 && args[0] == "-" && len(args) <= 2 {
		kind := backend.OwnPipe
		if plain {
			kind = backend.PlainPipe
		}
		return RunPipe(ctx, p, t, strings.Join(args[1:], ""), kind)
	}
	code, err := backend.Run(ctx, callOf(p, plain), t, args)
	return endOf(p, code, err)
}

// RunPipe runs commands from standard input. folder is the folder in which the session begins;
// empty means the working folder.
func RunPipe(ctx context.Context, p *cli.Process, t backend.Target, folder string, kind backend.PipeKind) int {
	cli.CollectGarbage(cli.SteadilyCollects)
	call := callOf(p, kind != backend.OwnPipe)
	call.Folder = folder
	code, err := backend.Pipe(ctx, call, t, kind)
	return endOf(p, code, err)
}

// callOf returns the Call of a command for a backend.
func callOf(p *cli.Process, plain bool) *backend.Call {
	return &backend.Call{
		Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, LookupEnv: p.LookupEnv, Now: p.Now,
		Plain: plain, Base: p.Base(), HidesFiles: p.HidesFiles(),
	}
}

// endOf returns the exit code of a command that a backend has run, and prints the error.
func endOf(p *cli.Process, code int, err error) int {
	if err != nil {
		p.ReportError(err)
		return 1
	}
	return code
}

// isHelp reports whether the arguments of a verb ask for its help. No verb accepts -h as its only
// argument.
func isHelp(args []string) bool { return len(args) == 1 && (args[0] == "--help" || args[0] == "-h") }
