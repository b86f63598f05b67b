package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cluster/shared"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/dashboards"
)

// A clusterExport is a run of rondo cluster export.
type clusterExport struct{ reaching }

func newClusterExport(c *cli.Factory) *cobra.Command {
	e := &clusterExport{reaching{Factory: c}}
	return e.complete(&cobra.Command{
		Use:   "export --to FOLDER --cluster nats://HOST:PORT,…",
		Short: "Make a database of one machine of a cluster",
		Long: `Make the database FOLDER, which rondo serve --db FOLDER uses, of all that a cluster has: series with their states and
rows as they are, labels, metadata, notes and dashboards. Each series is read back and compared. The cluster goes on meanwhile.

Each partition is as it was at one moment, and the command says between which times these moments lie: they are as far
apart as it takes to back up all partitions. FOLDER must be absent or empty. It appears when it is whole; until then the
command works in FOLDER.partial, which needs room for the compressed cluster, the database, and one partition. A run that
was interrupted begins anew when it is run again. Samples that a reorder window holds are applied.`,
	}, "to", "`folder` of the database; it is made", "it says where the database goes", e.run)
}

func (e *clusterExport) run(ctx context.Context) (err error) {
	from, err := e.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	show := cli.NewProgress(e.Stderr, int(from.Engine().Stats().Series), "series")
	got, err := clustered.Gather(ctx, from, e.folder, clustered.GatherOptions{
		Memory: int64(e.memory), Step: show.Step,
		Files: func(ctx context.Context, dir string) error {
			return e.writeDashboards(ctx, shared.Bucket{Store: from.Store()}, dashboards.In(dir))
		},
		Backed: func() {
			show.Print(fmt.Sprintf("%d partitions are backed up and go into %s", from.Partitions(), e.folder))
		},
	})
	show.End()
	if ctx.Err() != nil {
		return cli.ExitError(cli.ExitStopped)
	}
	if got.Series > 0 {
		if told := reportCopied(e.Process, got.Result); err == nil {
			err = told
		}
	}
	if err != nil {
		return err
	}
	const form = "2006-01-02 15:04:05.000"
	_, err = fmt.Fprintf(e.Stdout, "all of it is in %s and was read back; each partition is as of a moment from %s to %s; digest %s\n",
		e.folder, got.First.Format(form), got.Last.Format(form+" MST"), got.Digest)
	return err
}

func (e *clusterExport) writeDashboards(ctx context.Context, from shared.Bucket, to *dashboards.Folder) error {
	return from.Each(ctx, func(name, text string, err error) error {
		if err == nil {
			return to.Keep(name, text)
		}
		if errors.Is(err, core.ErrUnavailable) {
			return err
		}
		_, err = fmt.Fprintf(e.Stderr, "dashboard %s is left out: %v\n", name, err)
		return err
	})
}
