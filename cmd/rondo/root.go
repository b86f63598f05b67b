package main

import (
	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
)

const rootHelp = `Rondo keeps time series in round-robin archives: disk stays bounded, numbers are rrdtool's.

` + "`rondo serve`" + ` receives samples and answers queries. The other commands work on the same
database: through the server's socket while one runs, directly when none does.`

func newRoot(p *process) *cobra.Command {
	c := &common{process: p}
	root := &cobra.Command{
		Use:           "rondo",
		Short:         "Time series in round-robin archives",
		Long:          rootHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
		Args: func(cmd *cobra.Command, args []string) error {
			return cobra.MaximumNArgs(2)(cmd, args) // "-" and a folder; the rest are commands
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 { // pipe mode
				return exitCode(runVerb(cmd.Context(), c.process, c.target(), args, false))
			}
			return cmd.Help()
		},
	}
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	for _, f := range c.list() {
		root.PersistentFlags().StringVar(f.value, f.name, "", f.usage)
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
	verbs, own := newVerbs(c)
	for group, cmds := range map[string][]*cobra.Command{
		"server":   append(more, newServe(c), newStats(c), newNotes(c), newMetadata(c), newConfig(c), newPolicy(c), newCluster(c), newSend(c), newPassword(c), newToken(c)),
		"rrdtool":  append(verbs, newRRDTool(c)),
		"database": append(own, newPipe(c), newShow(c), newPlot(c), newQuery(c), newTop(c), newDrop(c), newRename(c), newCheck(c), newSalvage(c), newCompact(c), newBackup(c), newRestoreBackup(c), newImport(c), newExport(c), newWAL(c), newCluster(c)),
	} {
		for _, cmd := range cmds {
			cmd.GroupID = group
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(newBenchCommand(), newVersion(c), newMan(c))
	root.SetHelpCommand(newHelp())
	completeFlag(root, "sync", backend.SyncModes)
	root.InitDefaultCompletionCmd() // before checkUsage, which then covers it, too
	checkUsage(root)
	return root
}
