package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
	"github.com/rondo-db/rondo/engine/cluster/copying"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/dashboards"
	"github.com/rondo-db/rondo/query/dashboards/shared"
)

// A clusterFilling is a run of rondo cluster init.
type clusterFilling struct {
	*common
	reachFlags
	from   string
	memory byteSize
}

func newClusterInit(c *common) *cobra.Command {
	i := &clusterFilling{common: c, memory: 1 << 30}
	cmd := &cobra.Command{
		Use:   "init --from FOLDER --cluster nats://HOST:PORT,…",
		Short: "Take a database of one machine into a new cluster",
		Long: `Copy everything that the database in FOLDER has into a cluster: series with their states and rows as they are, labels,
metadata, notes and dashboards. Each series is read back and compared. The cluster must have no series yet, but for
those that its servers keep about themselves. Its nodes must run; FOLDER must be used by nobody else meanwhile, and stays
as it is, but for samples that a reorder window holds: they are applied first.

A run that was interrupted goes on when it is run again: what is there and equal is not sent again.
A dashboard whose name the cluster has already is named, and stays out. What is in other files stays where it is: rules,
users and the configuration.`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if i.from == "" {
				return &usageError{errors.New("--from FOLDER is needed: it says which database"), "rondo cluster init --help"}
			}
			return i.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&i.from, "from", "", "`folder` of the database of one machine")
	f.Var(&i.memory, "memory", "`bytes` of memory for the database that is read")
	i.reachFlags.addFlags(f)
	return cmd
}

func (i *clusterFilling) run(ctx context.Context) (err error) {
	if !backend.IsDatabase(i.from) {
		return fmt.Errorf("there is no database in %s", i.from)
	}
	from, err := core.Open(i.from, core.Options{Memory: int64(i.memory), NoBackground: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	source := clustered.Source{Each: func(fn func(e core.Engine) error) error { return fn(from) }}
	if source.Source, err = from.Identity(); err != nil {
		return err
	}
	if source.Name, err = filepath.Abs(i.from); err != nil {
		return err
	}
	to, err := i.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	source.Files = func(ctx context.Context) error { return i.offerDashboards(ctx, shared.Bucket{Store: to.Store()}) }
	show := newProgressOf(i.stderr, int(from.Stats().Series), "series")
	got, o, err := clustered.Fill(ctx, to.Store(), to.Engine(), source, show.step)
	show.end()
	if errors.Is(err, clustered.ErrFilled) {
		_, err = fmt.Fprintf(i.stdout, "%v: %d series, digest %s\n", err, o.Series, o.Digest)
		return err
	}
	return i.tellEnd(ctx, got, from.Stats().Series, err)
}

// tellEnd prints what was done of a number of series. A run that was interrupted has failed in
// nothing: the same command finishes it.
func (i *clusterFilling) tellEnd(ctx context.Context, got copying.Result, of int64, err error) error {
	if err != nil && ctx.Err() != nil {
		_, _ = fmt.Fprintf(i.stderr, "stopped: %d of %d series copied, %d were there already; run again, it goes on where it was\n",
			got.Copied+got.Replaced, of, got.Equal+got.Kept) // it ends
		return exitError(stopped)
	}
	if _, never := errors.AsType[*clustered.UnfitError](err); never {
		return err
	}
	if told := i.tellCopied(got); err == nil {
		err = told
	}
	if err != nil {
		return fmt.Errorf("%w; when that is mended, the same command goes on where it was", err)
	}
	_, err = fmt.Fprintf(i.stdout, "all of it is in the cluster and was read back; digest %s\n", got.Digest)
	return err
}

// offerDashboards takes the dashboards of the folder into the cluster.
func (i *clusterFilling) offerDashboards(ctx context.Context, to shared.Bucket) error {
	folder := dashboards.In(i.from)
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
			if _, err := fmt.Fprintf(i.stderr, "dashboard %s is not in the cluster: %v\n", e.Name, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// tellCopied prints what was copied.
func (c *common) tellCopied(got copying.Result) error {
	for _, p := range got.Problems {
		if _, err := fmt.Fprintln(c.stderr, oneLine(p.String())); err != nil {
			return err
		}
	}
	line := []string{fmt.Sprintf("%d of %d series copied", got.Copied+got.Replaced, got.Series)}
	for _, x := range []struct {
		n    int64
		what string
	}{
		{got.Equal, "were there already"},
		{got.Kept, "of the servers themselves were there and stay"},
		{got.Failed, "failed"},
	} {
		if x.n > 0 {
			line = append(line, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	_, err := fmt.Fprintf(c.stdout, "%s; metadata of %d paths, %d notes\n", strings.Join(line, ", "), got.Metadata, got.Notes)
	return err
}
