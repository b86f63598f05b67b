package cmd

import (
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
)

const rootHelp = `Rondo keeps time series in round-robin archives: disk stays bounded, numbers are rrdtool's.

` + "`rondo serve`" + ` receives samples and answers queries. The other commands work on the same
database: through the server's socket while one runs, directly when none does.`

// NewRoot returns rondo with all of its commands.
func NewRoot(p *cli.Process) *cobra.Command {
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
	for _, f := range c.List() {
		root.PersistentFlags().StringVar(f.Value, f.Name, "", f.Usage)
	}
	root.AddGroup(
		&cobra.Group{ID: "server", Title: "Server:"},
		&cobra.Group{ID: "rrdtool", Title: "As in rrdtool:"},
		&cobra.Group{ID: "database", Title: "Database:"},
	)
	var more []*cobra.Command
	for _, make := range protocolCommands {
		more = append(more, make(c))
	}
	original, own := verbs.NewCommands(c)
	for group, cmds := range map[string][]*cobra.Command{
		"server":   append(more, serve.NewCommand(c), show.NewStats(c), show.NewNotes(c), show.NewMetadata(c), config.NewCommand(c), config.NewPolicy(c), cluster.NewCommand(c), send.NewCommand(c), config.NewPassword(c), config.NewToken(c)),
		"rrdtool":  append(original, verbs.NewRRDTool(c)),
		"database": append(own, verbs.NewPipe(c), show.NewShow(c), show.NewPlot(c), query.NewCommand(c), show.NewTop(c), data.NewDrop(c), data.NewRename(c), data.NewCheck(c), data.NewSalvage(c), data.NewCompact(c), data.NewBackup(c), data.NewRestoreBackup(c), data.NewImport(c), data.NewExport(c), data.NewWAL(c), cluster.NewCommand(c)),
	} {
		for _, cmd := range cmds {
			cmd.GroupID = group
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(about.NewBench(), about.NewVersion(c), about.NewMan(c))
	root.SetHelpCommand(about.NewHelp())
	cli.CompleteFlag(root, "sync", backend.SyncModes)
	root.InitDefaultCompletionCmd() // before checkUsage, which then covers it, too
	cli.CheckUsage(root)
	return root
}

// protocolCommands make the other commands of protocols.
var protocolCommands = []func(c *cli.Factory) *cobra.Command{
	send.NewMono,
	send.NewRRDDPublish,
}
