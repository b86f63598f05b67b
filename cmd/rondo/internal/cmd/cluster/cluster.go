// Package cluster has the commands for operators of a cluster.
package cluster

import (
	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
)

const clusterHelp = `Operate a cluster: several servers that hold one set of series.

The commands ask a node, any of them: the one whose folder --db names, or by --daemon http://HOST:PORT. If no node answers, all but check ask
the servers of NATS themselves: --cluster nats://HOST:PORT names them, as it does for rondo serve.`

// NewCommand returns the commands for operators of a cluster.
func NewCommand(c *cli.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Operate a cluster of servers",
		Long:  clusterHelp,
	}
	for _, make := range []func(*cli.Factory) *cobra.Command{
		newClusterStatus, newClusterNodes, newClusterPartitions, newClusterMove, newClusterDrain, newClusterCheck, newClusterInit, newClusterExport, newClusterMend,
	} {
		cmd.AddCommand(make(c))
	}
	return cmd
}
