package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cluster/copying"
	"github.com/rondo-db/rondo/cluster/shared"
	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/dashboards"
)

// A clusterFilling is a run of rondo cluster init.
type clusterFilling struct{ reaching }

func newClusterInit(c *cli.Factory) *cobra.Command {
	i := &clusterFilling{reaching{Factory: c}}
	return i.complete(&cobra.Command{
		Use:   "init --from FOLDER --cluster nats://HOST:PORT,…",
		Short: "Take a database of one machine into a new cluster",
		Long: `Copy everything that the database in FOLDER has into a cluster: series with their states and rows as they are, labels,
metadata, notes and dashboards. Each series is read back and compared. The cluster must have no series yet, but for
those that its servers keep about themselves. Its nodes must run; FOLDER must be used by nobody else meanwhile, and stays
as it is, but for samples that a reorder window holds: they are applied first.

A run that was interrupted goes on when it is run again: what is there and equal is not sent again.
A dashboard whose name the cluster has already is named, and stays out. What is in other files stays where it is: rules,
users and the configuration.`,
	}, "from", "`folder` of the database of one machine", "it says which database", i.run)
}

func (i *clusterFilling) run(ctx context.Context) (err error) {
	if !backend.IsDatabase(i.folder) {
		return fmt.Errorf("there is no database in %s", i.folder)
	}
	from, err := core.Open(i.folder, core.Options{Memory: int64(i.memory), NoBackground: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	source := clustered.Source{Each: func(fn func(e core.Engine) error) error { return fn(from) }}
	if source.Source, err = from.Identity(); err != nil {
		return err
	}
	if source.Name, err = filepath.Abs(i.folder); err != nil {
		return err
	}
	to, err := i.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	source.Files = func(ctx context.Context) error { return i.offerDashboards(ctx, shared.Bucket{Store: to.Store()}) }
	show := cli.NewProgress(i.Stderr, int(from.Stats().Series), "series")
	got, o, err := clustered.Fill(ctx, to.Store(), to.Engine(), source, show.Step)
	show.End()
	if errors.Is(err, clustered.ErrFilled) {
		_, err = fmt.Fprintf(i.Stdout, "%v: %d series, digest %s\n", err, o.Series, o.Digest)
		return err
	}
	return i.tellEnd(ctx, got, from.Stats().Series, err)
}

// tellEnd prints what was done of a number of series. A run that was interrupted has failed in
// nothing: the same command finishes it.
func (i *clusterFilling) tellEnd(ctx context.Context, got copying.Result, of int64, err error) error {
	if err != nil && ctx.Err() != nil {
		_, _ = fmt.Fprintf(i.Stderr, "stopped: %d of %d series copied, %d were there already; run again, it goes on where it was\n",
			got.Copied+got.Replaced, of, got.Equal+got.Kept) // it ends
		return cli.ExitError(cli.ExitStopped)
	}
	if _, never := errors.AsType[*clustered.UnfitError](err); never {
		return err
	}
	if told := reportCopied(i.Process, got); err == nil {
		err = told
	}
	if err != nil {
		return fmt.Errorf("%w; when that is mended, the same command goes on where it was", err)
	}
	_, err = fmt.Fprintf(i.Stdout, "all of it is in the cluster and was read back; digest %s\n", got.Digest)
	return err
}

// offerDashboards takes the dashboards of the folder into the cluster.
func (i *clusterFilling) offerDashboards(ctx context.Context, to shared.Bucket) error {
	folder := dashboards.In(i.folder)
	entries, err := folder.List()
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := folder.Read(e.Name)
		if err == nil {
			err = to.Offer(ctx, e.Name, text)
		}
		if errors.Is(err, core.ErrUnavailable) {
			return err
		}
		if err != nil {
			if _, err := fmt.Fprintf(i.Stderr, "dashboard %s is not in the cluster: %v\n", e.Name, err); err != nil {
				return err
			}
		}
	}
	return nil
}

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
