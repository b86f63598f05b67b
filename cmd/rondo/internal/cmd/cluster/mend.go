package cluster

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
)

// A mending is a run of rondo cluster mend.
type mending struct {
	operating
	from string
	log  bool
}

func newClusterMend(c *cli.Factory) *cobra.Command {
	m := &mending{operating: operating{Factory: c}}
	cmd := &cobra.Command{
		Use:   "mend --map FOLDER | --log PARTITION NODE",
		Short: "Go on after the servers of NATS have lost what they kept",
		Long: `Go on after servers of NATS have lost what two of three of them kept. rondo cluster status says what is lost.

  rondo cluster mend --cluster nats://HOST:PORT --map /var/lib/rondo/node    the map of partitions, or all of the cluster's bucket
  rondo cluster mend --cluster nats://HOST:PORT --log 3 b                    records of the log of partition 3

--map writes the map that a node has kept in its folder, the one of its --db; take the node that has run last. If the bucket is lost,
stop all nodes first. --log lets the replica on NODE begin the log anew behind what it holds. Take the one that holds most: what no replica
held is lost.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if m.log == (m.from != "") {
				return errors.New("one of --map FOLDER and --log is needed")
			}
			n := 0
			if m.log {
				n = 2
			}
			return cli.Takes(n, n)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return m.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.StringVar(&m.from, "map", "", "write the map of partitions that the node in `folder` has kept")
	f.BoolVar(&m.log, "log", false, "let the replica on NODE begin the log of PARTITION anew")
	m.AddPlace(f, "they are needed")
	return cmd
}

func (m *mending) run(ctx context.Context, args []string) error {
	if m.Servers.URL == "" {
		return cli.Misused("cluster mend", errors.New("--cluster nats://HOST:PORT,… is needed: it says which cluster"))
	}
	servers, err := m.Apply()
	if err != nil {
		return cli.Misused("cluster mend", err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	if m.log {
		partition, err := partitionNumber(args[0])
		if err == nil {
			err = clustered.BeginLog(ctx, servers, int(partition), args[1])
		}
		if err != nil {
			return err
		}
		return m.say("the replica on node %s is to begin the log of partition %d anew", args[1], partition)
	}
	version, err := clustered.WriteMap(ctx, servers, filepath.Join(m.from, backend.ReplicasFolder))
	if err != nil {
		return err
	}
	return m.say("the servers have version %d of the map of partitions", version)
}
