package cmd

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd/about"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd/cluster"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd/config"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd/data"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd/query"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd/send"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd/serve"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd/show"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd/verbs"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

const rootHelp = `Rondo keeps time series in round-robin archives: disk stays bounded, numbers are rrdtool's.

` + "`rondo serve`" + ` receives samples and answers queries. The other commands work on the same
database: through the server's socket while one runs, directly when none does.

Start here: rondo serve in one terminal; in another

  curl -d 'room,place=cellar celsius=21.5' http://127.0.0.1:9180/write
  rondo list; rondo show influx/room/place=cellar/celsius     and http://127.0.0.1:9180/ in a browser`

// An entry is a command: its names, its group in the list of commands, and what makes it.
type entry struct {
	names []string
	group string
	make  func(*cli.Factory) *cobra.Command
}

// The groups of commands.
const (
	ofServer   = "server"
	ofRRDTool  = "rrdtool"
	ofDatabase = "database"
)

func commands() []entry {
	all := []entry{
		{[]string{"serve"}, ofServer, serve.NewCommand},
		{[]string{"status"}, ofServer, show.NewStatus},
		{[]string{"alerts"}, ofServer, show.NewAlerts},
		{[]string{"stats"}, ofServer, show.NewStats},
		{[]string{"notes"}, ofServer, show.NewNotes},
		{[]string{"metadata"}, ofServer, show.NewMetadata},
		{[]string{"config"}, ofServer, config.NewCommand},
		{[]string{"policy"}, ofServer, config.NewPolicy},
		{[]string{"password"}, ofServer, config.NewPassword},
		{[]string{"token"}, ofServer, config.NewToken},
		{[]string{"cluster"}, ofServer, cluster.NewCommand},
		{[]string{"send"}, ofServer, send.NewCommand},
		{[]string{"mono"}, ofServer, send.NewMono},
		{[]string{"rrdd-publish"}, ofServer, send.NewRRDDPublish},
		{[]string{"rrdtool"}, ofRRDTool, verbs.NewRRDTool},
		{[]string{"pipe"}, ofDatabase, verbs.NewPipe},
		{[]string{"show"}, ofDatabase, show.NewShow},
		{[]string{"plot"}, ofDatabase, show.NewPlot},
		{[]string{"top"}, ofDatabase, show.NewTop},
		{[]string{"query"}, ofDatabase, query.NewCommand},
		{[]string{"drop", "rm", "delete"}, ofDatabase, data.NewDrop},
		{[]string{"rename", "mv"}, ofDatabase, data.NewRename},
		{[]string{"check"}, ofDatabase, data.NewCheck},
		{[]string{"salvage"}, ofDatabase, data.NewSalvage},
		{[]string{"compact"}, ofDatabase, data.NewCompact},
		{[]string{"backup"}, ofDatabase, data.NewBackup},
		{[]string{"restore-backup"}, ofDatabase, data.NewRestoreBackup},
		{[]string{"import"}, ofDatabase, data.NewImport},
		{[]string{"export"}, ofDatabase, data.NewExport},
		{[]string{"wal"}, ofDatabase, data.NewWAL},
		{[]string{"bench"}, "", about.NewBench},
		{[]string{"version"}, "", about.NewVersion},
		{[]string{"man"}, "", func(c *cli.Factory) *cobra.Command {
			return about.NewMan(c, func() *cobra.Command { return NewRoot(c.Process) })
		}},
	}
	for _, verb := range rrdtool.Verbs() {
		all = append(all, verbEntry(verb, ofRRDTool))
	}
	for _, verb := range rrdtool.OwnVerbs() {
		all = append(all, verbEntry(verb, ofDatabase))
	}
	return all
}

func verbEntry(verb, group string) entry {
	return entry{[]string{verb}, group, func(c *cli.Factory) *cobra.Command { return verbs.NewCommand(c, verb) }}
}

// named returns the command that arguments name. If they name none, or call for help or completion,
// it returns all commands.
func named(args []string) []entry {
	all := commands()
	args, err := new(cli.Factory).TakeFlags(args, false)
	if err != nil || len(args) == 0 {
		return all
	}
	i := slices.IndexFunc(all, func(e entry) bool { return slices.Contains(e.names, args[0]) })
	if i < 0 {
		return all
	}
	return all[i : i+1]
}

// NewRoot returns rondo with all of its commands.
func NewRoot(p *cli.Process) *cobra.Command {
	root := newRoot(p, commands())
	root.InitDefaultHelpCmd()
	return root
}

// newRoot returns rondo with some of its commands. To make all takes longer than most verbs take.
func newRoot(p *cli.Process, entries []entry) *cobra.Command {
	c := &cli.Factory{Process: p}
	root := &cobra.Command{
		Use:           "rondo",
		Short:         "Time series in round-robin archives",
		Long:          rootHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       cli.Version(),
		Args: func(cmd *cobra.Command, args []string) error {
			return cobra.MaximumNArgs(2)(cmd, args) // "-" and a folder; the rest are commands
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 { // pipe mode
				return cli.ExitCode(verbs.Run(cmd.Context(), c.Process, c.Target(), args, false))
			}
			return cmd.Help()
		},
	}
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.PersistentFlags().AddFlagSet(c.Flags())
	root.AddGroup(
		&cobra.Group{ID: ofServer, Title: "Server:"},
		&cobra.Group{ID: ofRRDTool, Title: "As in rrdtool:"},
		&cobra.Group{ID: ofDatabase, Title: "Database:"},
	)
	for _, e := range entries {
		cmd := e.make(c)
		cmd.GroupID = e.group
		root.AddCommand(cmd)
	}
	root.SetHelpCommand(about.NewHelp())
	cli.CompleteFlag(root, "sync", backend.SyncModes)
	if root.CompletionOptions.DisableDefaultCmd = len(entries) == 1; len(entries) > 1 {
		root.InitDefaultCompletionCmd() // before CheckUsage, which then covers it, too
	}
	cli.CheckUsage(root)
	cli.GlobalFlagsOnce(root)
	return root
}
