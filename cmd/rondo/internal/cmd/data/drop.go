package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

const dropHelp = `Delete series with all their rows, their labels and metadata. The names are free at once; the space is used again by other
series. There is no way back but a backup.

  rondo drop router/eth0            one series
  rondo drop -r collectd/web1       all series below a folder
  rondo drop --label host=web1      all series with a label; with several --label, those that have them all
  rondo drop -r lab --dry-run       print what would go, and delete nothing
  rondo drop -r / --all             all series of the database

With RONDO_BASE, names of files mean their series, as with rrdtool's verbs.`

// manyAtOnce is how many changes are made at the same time, so that they wait for the disk
// together.
const manyAtOnce = 64

// A dropping is a run of rondo drop.
type dropping struct {
	*cli.Factory
	recursive bool
	all       bool
	labels    []string
	dry       bool
}

func NewDrop(c *cli.Factory) *cobra.Command {
	d := &dropping{Factory: c}
	cmd := &cobra.Command{
		Use:               "drop NAME… | -r FOLDER… | --label NAME=VALUE…",
		Aliases:           []string{"rm", "delete"},
		Short:             "Delete series",
		Long:              dropHelp,
		ValidArgsFunction: c.CompleteSeries,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(d.labels) > 0 && (len(args) > 0 || d.recursive):
				return errors.New("--label says which series go: it takes no names beside it")
			case len(d.labels) == 0 && len(args) == 0:
				return errors.New("name the series to delete, or a folder with -r, or a label with --label")
			}
			for _, label := range d.labels {
				if _, err := cli.ParseMatcher(label); err != nil {
					return err
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.Target().With(cmd.Context(), core.Options{ReadOnly: d.dry}, func(db *backend.Database) error { return d.run(cmd.Context(), db, args) })
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&d.recursive, "recursive", "r", false, "delete all series below the named folders")
	f.BoolVar(&d.all, "all", false, "confirm that -r / deletes all series of the database")
	f.StringArrayVar(&d.labels, "label", nil, "delete the series with this `label`: name=value, name!=value, name=~pattern; may be repeated")
	f.BoolVarP(&d.dry, "dry-run", "n", false, "print what would be deleted, and delete nothing")
	return cmd
}

func (d *dropping) run(ctx context.Context, db *backend.Database, args []string) error {
	p, err := cli.NewPicker(d.Factory, db)
	if err != nil {
		return err
	}
	paths, err := d.paths(ctx, p, args)
	if err != nil {
		return cli.WithoutPrefix(err)
	}
	if d.dry {
		for _, path := range paths {
			if _, err := fmt.Fprintln(d.Stdout, cli.OneLine(path)); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(d.Stdout, "%d series would be deleted\n", len(paths))
		return err
	}
	n, err := each(ctx, paths, func(ctx context.Context, path string) error {
		_, err := p.API.Drop(ctx, &rondov1.DropRequest{Path: path})
		if err == nil && p.Env.Made != nil {
			transfer.Hide(p.Env.Base, path)
		}
		return cli.WithoutPrefix(err)
	})
	_, failed := fmt.Fprintf(d.Stdout, "%d series deleted\n", n)
	leftFiles(d.Process, p.Env.Base, paths)
	return cmp.Or(err, failed)
}

// leftFiles warns of native files of rrdtool that have the names of deleted series. rondo never
// deletes such files.
func leftFiles(p *cli.Process, base string, paths []string) {
	var left []string
	for _, path := range paths {
		name := filepath.Join(base, filepath.FromSlash(path))
		for _, name := range []string{name, name + ".rrd"} {
			if rrdtool.IsNative(rrdtool.OSFiles{}, name) {
				left = append(left, name)
			}
		}
	}
	if len(left) == 0 {
		return
	}
	// If this fails, the warning cannot be delivered.
	_, _ = fmt.Fprintf(p.Stderr, "%s is still there as a file of rrdtool's: an update of that name makes a series of it again. Remove it if that is not meant\n", cli.Quoted(left[0]))
	if len(left) > 1 {
		_, _ = fmt.Fprintf(p.Stderr, "So are the files of %d more\n", len(left)-1)
	}
}

// paths returns the paths of the series to delete. It fails if one of the names is wrong, and then
// nothing is deleted.
func (d *dropping) paths(ctx context.Context, p *cli.Picker, args []string) ([]string, error) {
	if len(d.labels) > 0 {
		paths, err := p.Labelled(ctx, d.labels)
		if err == nil && len(paths) == 0 {
			err = errors.New("no series has these labels")
		}
		return paths, err
	}
	var paths []string
	for _, name := range args {
		if !d.recursive {
			s, err := p.One(ctx, name)
			if err != nil {
				return nil, err
			}
			paths = append(paths, s.GetSeries().GetPath())
			continue
		}
		path, err := p.Path(name)
		if err != nil {
			return nil, err
		}
		if path == "" && !d.all && !d.dry {
			return nil, fmt.Errorf("%s is every series of the database: add --all if all are to go", cli.Quoted(name))
		}
		below, err := p.Below(ctx, path)
		if err != nil {
			return nil, err
		}
		if len(below) == 0 {
			return nil, fmt.Errorf("there is no series below %s", cli.Quoted(name))
		}
		paths = append(paths, below...)
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// each calls fn for each of the paths, several at the same time, and returns how many calls have
// succeeded. After the first error, which it returns, it starts no more calls.
func each(ctx context.Context, paths []string, fn func(ctx context.Context, path string) error) (int64, error) {
	var done atomic.Int64
	workers, working := errgroup.WithContext(ctx)
	workers.SetLimit(manyAtOnce)
	for _, path := range paths {
		workers.Go(func() error {
			if err := working.Err(); err != nil {
				return err
			}
			err := fn(ctx, path) // which an error of another call does not cancel
			if err == nil {
				done.Add(1)
			}
			return err
		})
	}
	err := workers.Wait()
	return done.Load(), err
}

const renameHelp = `Give a series another path, or with -r all series below a folder. Rows, labels and metadata go along. A path that another series
has is refused.

  rondo rename router/eth0 router/wan
  rondo rename -r collectd/web1 collectd/web1.example.org`

// A renaming is a run of rondo rename.
type renaming struct {
	*cli.Factory
	recursive bool
	dry       bool
}

func NewRename(c *cli.Factory) *cobra.Command {
	r := &renaming{Factory: c}
	cmd := &cobra.Command{
		Use:               "rename OLD NEW",
		Aliases:           []string{"mv"},
		Short:             "Give series another path",
		Long:              renameHelp,
		ValidArgsFunction: c.CompleteSeries, // NEW is often like OLD
		Args:              cli.Takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.Target().With(cmd.Context(), core.Options{ReadOnly: r.dry}, func(db *backend.Database) error { return r.run(cmd.Context(), db, args[0], args[1]) })
		},
	}
	cmd.Flags().BoolVarP(&r.recursive, "recursive", "r", false, "rename all series below the folder OLD")
	cmd.Flags().BoolVarP(&r.dry, "dry-run", "n", false, "print what would be renamed, and rename nothing")
	return cmd
}

func (r *renaming) run(ctx context.Context, db *backend.Database, from, to string) error {
	p, err := cli.NewPicker(r.Factory, db)
	if err != nil {
		return err
	}
	paths, name, err := r.plan(ctx, p, from, to)
	if err != nil {
		return cli.WithoutPrefix(err)
	}
	if r.dry {
		for _, path := range paths {
			if _, err := fmt.Fprintf(r.Stdout, "%s -> %s\n", cli.OneLine(path), cli.OneLine(name(path))); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(r.Stdout, "%d series would be renamed\n", len(paths))
		return err
	}
	n, err := each(ctx, paths, func(ctx context.Context, path string) error {
		_, err := p.API.Rename(ctx, &rondov1.RenameRequest{Path: path, To: name(path)})
		if err == nil && p.Env.Made != nil {
			transfer.Hide(p.Env.Base, path)
			p.Env.Made(name(path))
		}
		return cli.WithoutPrefix(err)
	})
	if n == 0 && err != nil {
		return err
	}
	_, failed := fmt.Fprintf(r.Stdout, "%d series renamed\n", n)
	leftFiles(r.Process, p.Env.Base, paths)
	return cmp.Or(err, failed)
}

// plan returns the paths of the series to rename, and a function that returns the new path of an
// old one.
func (r *renaming) plan(ctx context.Context, p *cli.Picker, from, to string) ([]string, func(string) string, error) {
	target, err := p.Path(to)
	if err != nil {
		return nil, nil, err
	}
	if !r.recursive {
		s, err := p.One(ctx, from)
		if err != nil {
			return nil, nil, err
		}
		const end = ".rrd" // may be left out of both names
		is := s.GetSeries().GetPath()
		if was, _ := p.Path(from); is == was+end && !strings.HasSuffix(target, end) {
			target += end
		}
		return []string{is}, func(string) string { return target }, nil
	}
	folder, err := p.Path(from)
	if err != nil {
		return nil, nil, err
	}
	paths, err := p.All(ctx, &rondov1.ListRequest{Prefix: cli.FolderOf(folder), Brief: true})
	if err != nil {
		return nil, nil, err
	}
	if len(paths) == 0 {
		return nil, nil, fmt.Errorf("there is no series below %s", cli.Quoted(from))
	}
	return paths, func(old string) string {
		return path.Join(target, strings.TrimPrefix(old, cli.FolderOf(folder)))
	}, nil
}
