package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// summaries says what rrdtool's verbs do, for the list of commands.
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
	"flushcached": "Apply the samples of series that are held",
	"tune":        "Change the definition of a series",
	"alter":       "Change what a series keeps, with its history",
	"resize":      "Copy a series with more or fewer rows",
}

// writing are the verbs that change the store.
var writing = []string{"create", "update", "updatev", "tune", "resize", "alter", "restore", "flushcached"}

// unbuiltHelp is the help of a verb that rondo knows by name only.
const unbuiltHelp = `Not built into this rondo yet. The original rrdtool draws the series of a running server:

  rrdtool graph x.png --daemon unix:/path/rondo.db/rrdcached.sock DEF:…

docs/clients.md says more.`

// unbuilt are the verbs of rrdtool that rondo knows by name only, so that it can say so.
var unbuilt = []string{"graph", "graphv"}

// newVerbs returns a command for each of rrdtool's verbs. Their arguments are passed on as they are; only the
// flags of every rondo command are taken out.
func newVerbs(c *common) []*cobra.Command {
	var cmds []*cobra.Command
	for _, verb := range slices.Concat(rrdtool.Verbs(), rrdtool.OwnVerbs(), unbuilt) {
		_, built := summaries[verb]
		cmds = append(cmds, &cobra.Command{
			Use:                verb,
			Short:              summaries[verb],
			Long:               verbHelp(verb),
			Hidden:             !built,
			DisableFlagParsing: true,
			ValidArgsFunction:  c.completeVerb(verb),
			RunE: func(cmd *cobra.Command, args []string) error {
				args, err := c.takeFlags(args)
				if err != nil {
					return err
				}
				if built && isHelp(args) {
					return cmd.Help()
				}
				return exitCode(runVerb(cmd.Context(), c.process, c.target(), append([]string{verb}, args...), false))
			},
		})
	}
	return cmds
}

// drawHelp is said of the verbs that draw.
const drawHelp = `rondo does not draw yet. The original rrdtool draws rondo's series, if a server runs:

  rrdtool graph out.png --daemon unix:FOLDER/rrdcached.sock DEF:v=NAME:DS:AVERAGE LINE1:v#0000ff

FOLDER is the database's folder. The Perl and Python modules of rrdtool draw so, too, with RRDCACHED_ADDRESS set to that socket.`

// verbHelp is rrdtool's usage of a verb, and what differs.
func verbHelp(verb string) string {
	if slices.Contains(unbuilt, verb) {
		return drawHelp
	}
	if slices.Contains(unbuilt, verb) {
		return unbuiltHelp
	}
	var usage strings.Builder
	env := &rrdtool.Env{Store: missing{}, Rondo: true, Stdout: &usage, Stderr: io.Discard}
	_ = rrdtool.Run(context.Background(), env, []string{"help", verb}) // prints, and cannot fail
	_, text, _ := strings.Cut(usage.String(), "usage: ")
	if slices.Contains(rrdtool.OwnVerbs(), verb) {
		return fmt.Sprintf("%s.\n\n%s", summaries[verb], text)
	}
	return fmt.Sprintf("%s. Arguments, output and exit codes are those of rrdtool %s.\n\n%s", summaries[verb], verb, text)
}

// newRRDTool returns the command that is rrdtool and nothing else.
func newRRDTool(c *common) *cobra.Command {
	return &cobra.Command{
		Use:                "rrdtool",
		Short:              "Be rrdtool and nothing else",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := c.leadingFlags(args)
			if err != nil {
				return err
			}
			return exitCode(runVerb(cmd.Context(), c.process, c.target(), args, true))
		},
	}
}

func exitCode(code int) error {
	if code == 0 {
		return nil
	}
	return exitError(code)
}

// takeFlags takes --db, --daemon, --sync and --config out of the arguments of a verb.
func (c *common) takeFlags(args []string) ([]string, error) {
	var rest []string
	for len(args) > 0 {
		if args[0] == "--" {
			return append(rest, args...), nil
		}
		n, err := c.takeFlag(args)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			rest, n = append(rest, args[0]), 1
		}
		args = args[n:]
	}
	return rest, nil
}

// leadingFlags takes --db and --daemon off the front of args: cobra leaves those given before
// the command there.
func (c *common) leadingFlags(args []string) ([]string, error) {
	for len(args) > 0 {
		n, err := c.takeFlag(args)
		if err != nil || n == 0 {
			return args, err
		}
		args = args[n:]
	}
	return args, nil
}

// takeFlag takes a flag at the front of args and returns how many arguments it was; 0: none.
func (c *common) takeFlag(args []string) (int, error) {
	for name, value := range map[string]*string{"--db": &c.db, "--daemon": &c.daemon, "--sync": &c.sync, "--config": &c.config} {
		if v, ok := strings.CutPrefix(args[0], name+"="); ok {
			*value = v
			return 1, nil
		}
		if args[0] != name {
			continue
		}
		if len(args) == 1 {
			return 0, fmt.Errorf("option '%s' requires an argument", name)
		}
		*value = args[1]
		return 2, nil
	}
	return 0, nil
}

// runVerb runs one of rrdtool's verbs and returns its exit code. Plain is what rrdtool prints and nothing else.
func runVerb(ctx context.Context, p *process, t target, args []string, plain bool) int {
	if len(args) > 0 && args[0] == "-" && len(args) <= 2 {
		kind := ownPipe
		if plain {
			kind = plainPipe
		}
		return runPipe(ctx, p, t, strings.Join(args[1:], ""), kind)
	}
	collect(200)
	write := len(args) > 0 && slices.Contains(writing, args[0])
	env := &rrdtool.Env{
		Files: rrdtool.OSFiles{}, Rondo: !plain,
		Stdin: p.stdin, Stdout: p.stdout, Stderr: p.stderr,
		Now: p.now, Getenv: p.getenv,
	}
	if !t.needed(args) {
		env.Store = missing{}
		return rrdtool.Run(ctx, env, args)
	}
	var d daemons
	defer d.close()
	env.Connect = d.connect
	if t.daemon, args = t.daemonOf(args, p.getenv); t.daemon != "" {
		c, err := d.dial(ctx, t.daemon)
		if err != nil {
			env.Store = unreachable{err: err}
			return rrdtool.Run(ctx, env, args)
		}
		if c != nil {
			env.Store, env.Dir = c, c.Dir()
			return rrdtool.Run(ctx, env, args)
		}
	}
	here, err := p.place()
	if err != nil {
		p.tell(err)
		return 1
	}
	here.set(env)
	if args, p.stdin, err = readFirst(p, args); err != nil {
		p.tell(err)
		return 1
	}
	env.Stdin = p.stdin
	o, err := t.open(ctx, core.Options{ReadOnly: !write}, false)
	if err != nil {
		p.tell(err)
		return 1
	}
	var code int
	out := &heldOutput{to: p.stdout}
	switch {
	case o.client != nil:
		code, err = ask(ctx, o.client, env, p, here, args, plain)
	case o.store != nil:
		env.Store, env.Stdout = o.store, out
		if !plain {
			env.Extra = o.store
		}
		code = rrdtool.Run(ctx, env, args)
	default:
		if len(args) == 1 { // list: an empty answer would look like an empty database
			_, _ = fmt.Fprintln(p.stderr, t.missing())
		}
		m := &maker{target: t, adopts: args[0] != "create" && args[0] != "restore"}
		env.Store = missing{}
		if !plain && !write && len(args) > 1 && !readsNative(env, args) {
			env.Store = unreachable{err: t.missing()}
		}
		if name := rrdtool.Changes(args); args[0] == "create" || args[0] == "restore" || name != "" && rrdtool.IsNative(env.Files, name) {
			env.Store = m
		}
		code = rrdtool.Run(ctx, env, args)
		o.store = m.store
	}
	if err = firstError(err, o.close(), out.release()); err != nil {
		p.tell(err)
		return 1
	}
	return code
}

// readsNative says whether a verb reads a native file, which needs no database.
func readsNative(env *rrdtool.Env, args []string) bool {
	for _, name := range append(rrdtool.XportReads(args), rrdtool.Reads(args)) {
		if name != "" && rrdtool.IsNative(env.Files, name) {
			return true
		}
	}
	return false
}

// needed says whether args can mean a series at all.
func (t target) needed(args []string) bool {
	return len(args) > 0 && slices.Contains(slices.Concat(rrdtool.Verbs(), rrdtool.OwnVerbs()), args[0]) && (len(args) > 1 || args[0] == "list")
}

// execute has a server run the verb and passes on what it prints.
func execute(ctx context.Context, server rondov1.LocalClient, p *process, req *rondov1.ExecRequest) (int, error) {
	stream, err := server.Exec(ctx, connect.NewRequest(req))
	if err != nil {
		return 1, explain(err)
	}
	defer func() { _ = stream.Close() }() // an error of it would say nothing new
	for stream.Receive() {
		m := stream.Msg()
		if _, err := p.stdout.Write(m.GetStdout()); err != nil {
			return 1, err
		}
		if _, err := p.stderr.Write(m.GetStderr()); err != nil {
			return 1, err
		}
		if m.ExitCode != nil {
			return int(m.GetExitCode()), nil
		}
	}
	if err := stream.Err(); err != nil {
		return 1, explain(err)
	}
	return 1, io.ErrUnexpectedEOF
}

func execRequest(p *process, l place, args []string, plain bool) *rondov1.ExecRequest {
	req := &rondov1.ExecRequest{Argv: args, Plain: plain, Environment: make(map[string]string), NowUs: p.now().UnixMicro()}
	for _, name := range rrdtool.Variables {
		if v, ok := p.lookupEnv(name); ok {
			req.Environment[name] = v
		}
	}
	l.describe(req)
	return req
}

// explain says what a server's answer means for who uses the command line.
func explain(err error) error {
	if connect.CodeOf(err) == connect.CodeUnimplemented {
		return fmt.Errorf("the server serves the command line on its socket only (unix:…/rondo.sock): %w", err)
	}
	return err
}
