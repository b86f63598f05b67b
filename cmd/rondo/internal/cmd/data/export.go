package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

// An exporting is a run of rondo export.
type exporting struct {
	*cli.Factory
	to        string
	xml       bool
	overwrite bool
	jobs      int

	root func() (*os.Root, error) // makes and opens the folder, once
}

func NewExport(c *cli.Factory) *cobra.Command {
	e := &exporting{Factory: c}
	cmd := &cobra.Command{
		Use:   "export [PREFIX] --to FOLDER",
		Short: "Write series as rrdtool's files",
		Long: `Write the series whose path begins with PREFIX, or all, as files that rrdtool reads and goes on updating: PATH.rrd below
FOLDER, or with --xml PATH.xml. A file that is there is left as it is, and told, unless --overwrite is given. A native file is
dated as the last update of its series.`,
		Args:              cli.Takes(0, 1),
		ValidArgsFunction: c.CompleteOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if e.to == "" {
				return cli.Misused("export", errors.New("--to FOLDER is needed: it says where the files go"))
			}
			cli.CollectGarbage(cli.SteadilyCollects)
			return e.Target().Read(cmd.Context(), func(db *backend.Database) error { return e.run(cmd.Context(), db, strings.Join(args, "")) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&e.to, "to", "", "`folder` to write to; it is made if it does not exist")
	f.BoolVar(&e.xml, "xml", false, "write XML, as rrdtool dump does")
	f.BoolVar(&e.overwrite, "overwrite", false, "replace existing files")
	f.IntVarP(&e.jobs, "jobs", "j", runtime.GOMAXPROCS(0), "how many `files` are written at the same time")
	return cmd
}

func (e *exporting) run(ctx context.Context, db *backend.Database, prefix string) (err error) {
	e.root = sync.OnceValues(e.open)
	var written, failed atomic.Int64
	show := cli.NewProgress(e.Stderr, 0, "files")
	write := func(path string, data []byte, err error) error {
		name := e.name(path)
		if err == nil {
			err = e.write(name, data)
		}
		if err != nil {
			failed.Add(1)
			show.Print(fmt.Sprintf("%s: %v", filepath.Join(e.to, name), err))
		} else {
			written.Add(1)
		}
		show.Step(1)
		return nil
	}
	if db.Client != nil {
		err = exportThrough(ctx, db.Client, prefix, e.xml, e.jobs, write)
	} else {
		err = transfer.Export(ctx, db.Store, prefix, transfer.ExportOptions{XML: e.xml, Jobs: e.jobs}, write)
	}
	show.End()
	if ctx.Err() != nil {
		err = nil // the exit code says it
	}
	_, told := fmt.Fprintf(e.Stdout, "%d series exported, %d failed\n", written.Load(), failed.Load())
	if err := cmp.Or(err, told); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return cli.ExitError(cli.ExitStopped)
	}
	if failed.Load() > 0 {
		return cli.ExitError(1)
	}
	if prefix != "" && written.Load() == 0 {
		return fmt.Errorf("no series has a path that begins with %q", prefix)
	}
	return nil
}

// open makes the folder to write to, and opens it: no name and no link in it leads out of it.
func (e *exporting) open() (*os.Root, error) {
	if err := os.MkdirAll(e.to, 0o777); err != nil {
		return nil, cli.PathError(err)
	}
	return os.OpenRoot(e.to)
}

// name returns the name of the file for a series, below the folder.
func (e *exporting) name(path string) string {
	extension := ".rrd"
	if e.xml {
		extension = ".xml"
	}
	return filepath.FromSlash(strings.TrimSuffix(path, ".rrd") + extension)
}

// write writes data to a file. If it fails, it leaves no file behind.
func (e *exporting) write(name string, data []byte) error {
	root, err := e.root()
	if err != nil {
		return cli.PathError(err)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return cli.PathError(err)
	}
	if info, err := root.Lstat(name); err == nil && !e.overwrite {
		return os.ErrExist
	} else if err == nil && !info.Mode().IsRegular() {
		return errors.New("is not a regular file, which alone may be replaced")
	}
	fresh := name + ".new"
	_ = root.Remove(fresh) // what a killed run has left
	if err = writeNew(root, fresh, data); err == nil && !e.xml {
		if last, err := rrdfile.LastUpdate(data); err == nil {
			at := time.UnixMicro(int64(last))
			_ = root.Chtimes(fresh, at, at) // the file is useful without its time, too
		}
	}
	if err == nil {
		err = root.Rename(fresh, name)
	}
	if err != nil {
		_ = root.Remove(fresh) // the first error is the one to report
	}
	return cli.PathError(err)
}

// writeNew makes a file. It fails if there is one of that name.
func writeNew(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return cmp.Or(err, f.Close())
}

// A made is a file that the server has made.
type made struct {
	path string
	data []byte
	err  error
}

// exportThrough lets a server make the files.
func exportThrough(
	ctx context.Context, server *rpc.Client, prefix string, xml bool, jobs int, fn func(path string, data []byte, err error) error,
) error {
	stream, err := server.Far.ExportMany(ctx, &rondov1.ExportRequest{Prefix: prefix, Xml: xml})
	if err != nil {
		return backend.Explain(err)
	}
	defer func() { _ = stream.Close() }() // an error of it would say nothing new
	queue := make(chan made)
	var writers sync.WaitGroup
	for range max(jobs, 1) {
		writers.Go(func() {
			for m := range queue {
				_ = fn(m.path, m.data, m.err) // fn only reports
			}
		})
	}
	defer writers.Wait()
	defer close(queue)
	var file made
	for stream.Receive() {
		m := stream.Msg()
		if m.GetPath() != "" {
			file = made{path: m.GetPath()}
		}
		file.data = append(file.data, m.GetData()...)
		if !m.GetComplete() {
			continue
		}
		if m.GetError() != "" {
			file.err = errors.New(m.GetError())
		}
		queue <- file
	}
	if err := stream.Err(); err != nil {
		return backend.Explain(err)
	}
	return nil
}
