package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/engine"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/transfer"
)

// An exporting is a run of rondo export.
type exporting struct {
	*common
	to        string
	xml       bool
	overwrite bool
}

func newExport(c *common) *cobra.Command {
	e := &exporting{common: c}
	cmd := &cobra.Command{
		Use:   "export [PREFIX] --to FOLDER",
		Short: "Write series as rrdtool's files",
		Long: `Write the series whose path begins with PREFIX, or all, as files that rrdtool reads and goes on updating: PATH.rrd below
FOLDER, or with --xml PATH.xml. A file that is there is left as it is, and told, unless --overwrite is given.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if e.to == "" {
				return errors.New("--to says where to: it is needed")
			}
			return e.run(cmd.Context(), strings.Join(args, ""))
		},
	}
	f := cmd.Flags()
	f.StringVar(&e.to, "to", "", "the `folder` to write to; it is made")
	f.BoolVar(&e.xml, "xml", false, "write XML, as rrdtool dump does")
	f.BoolVar(&e.overwrite, "overwrite", false, "replace files that are there")
	return cmd
}

func (e *exporting) run(ctx context.Context, prefix string) (err error) {
	s, err := e.target().must(ctx, engine.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, s.close()) }()
	written, failed := 0, 0
	show := newProgress(e.stderr, 0)
	write := func(path string, data []byte, err error) error {
		name := e.name(path)
		if err == nil {
			err = e.write(name, data)
		}
		if err != nil {
			failed++
			show.print(fmt.Sprintf("%s: %v", name, err))
		} else {
			written++
		}
		show.step(1)
		return nil
	}
	if s.client != nil {
		err = exportThrough(ctx, s.client.Local, prefix, e.xml, write)
	} else {
		err = transfer.Export(ctx, s.store, prefix, e.xml, write)
	}
	show.end()
	_, told := fmt.Fprintf(e.stdout, "%d series exported, %d failed\n", written, failed)
	if err := firstError(err, told); err != nil {
		return err
	}
	if failed > 0 {
		return exitError(1)
	}
	return nil
}

// name is the file of a series.
func (e *exporting) name(path string) string {
	extension := ".rrd"
	if e.xml {
		extension = ".xml"
	}
	return filepath.Join(e.to, filepath.FromSlash(strings.TrimSuffix(path, ".rrd")+extension))
}

// write makes a file of data, or none.
func (e *exporting) write(name string, data []byte) error {
	if inside, err := filepath.Rel(e.to, name); err != nil || !filepath.IsLocal(inside) {
		return errors.New("would not be in the folder")
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return pathError(err)
	}
	if _, err := os.Lstat(name); err == nil && !e.overwrite {
		return os.ErrExist
	}
	fresh := name + ".new"
	if err := os.WriteFile(fresh, data, 0o666); err != nil {
		return pathError(err)
	}
	if err := os.Rename(fresh, name); err != nil {
		_ = os.Remove(fresh) // the first error is the one to tell
		return err
	}
	return nil
}

// exportThrough has a server make the files.
func exportThrough(ctx context.Context, server rondov1.LocalClient, prefix string, xml bool, fn func(path string, data []byte, err error) error) error {
	stream, err := server.Export(ctx, connect.NewRequest(&rondov1.ExportRequest{Prefix: prefix, Xml: xml}))
	if err != nil {
		return explain(err)
	}
	defer func() { _ = stream.Close() }() // an error of it would say nothing new
	var path string
	var data bytes.Buffer
	for stream.Receive() {
		m := stream.Msg()
		if m.GetPath() != "" {
			path = m.GetPath()
			data.Reset()
		}
		data.Write(m.GetData())
		if !m.GetComplete() {
			continue
		}
		var wrong error
		if m.GetError() != "" {
			wrong = errors.New(m.GetError())
		}
		if err := fn(path, data.Bytes(), wrong); err != nil {
			return err
		}
	}
	if err := stream.Err(); err != nil {
		return explain(err)
	}
	return nil
}

// pathError takes the name out of an error of the file system.
func pathError(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
