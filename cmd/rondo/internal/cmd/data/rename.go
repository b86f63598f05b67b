package data

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

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
