package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

const dumpUsage = `NAME [FILE] [OPTIONS]
  -h, --header none|xsd|dtd
                          what stands before the dump (dtd)
  -n, --no-header         none
  -d, --daemon ADDRESS    ask the server at ADDRESS`

const restoreUsage = `FILE|- NAME [OPTIONS]
  -r, --range-check       what is not between minimum and maximum becomes unknown
  -f, --force-overwrite   replace a series`

var dumpOptions = optionsIn(dumpUsage)

var restoreOptions = optionsIn(restoreUsage)

// dump prints a series as XML, or writes it to a file.
func (c *command) dump(args []string) error {
	header := rrdfile.HeaderDTD
	var unreachable error // a daemon
	args, err := parse(args, dumpOptions, func(name, arg string) error {
		switch name {
		case "header":
			if h, ok := rrdfile.ParseHeader(arg); ok {
				header = h
			}
		case "no-header":
			header = rrdfile.HeaderNone
		case "daemon":
			unreachable = c.daemon(arg)
			return unreachable
		}
		return nil
	})
	if unreachable == nil && (err != nil || len(args) < 1 || len(args) > 2) {
		err = errors.New("usage rrdtool dump [--header|-h {none,xsd,dtd}]\n[--no-header|-n]\n[--daemon|-d address]\nfile.rrd [file.xml]")
	}
	if err != nil {
		return err
	}
	ref, err := c.native(args[0])
	if err != nil {
		return err
	}
	f, err := c.file(ref, args[0])
	if err != nil {
		return err
	}
	if len(args) == 1 {
		return f.WriteXML(c.out, header, c.Location)
	}
	if c.Files == nil {
		return errNoFiles
	}
	out, err := c.Files.Create(args[1])
	if err != nil {
		return fmt.Errorf("creating '%s': %w", args[1], reason(err))
	}
	err = f.WriteXML(out, header, c.Location)
	if e := out.Close(); err == nil {
		err = e
	}
	return err
}

// file returns the file of a series. name is how the caller has named it.
func (c *command) file(ref core.Ref, name string) (*rrdfile.File, error) {
	if s, ok := c.Store.(*transfer.Single); ok {
		return s.File(), nil
	}
	series, err := c.Store.Export(c.ctx, ref)
	if err != nil {
		return nil, named(name, err)
	}
	return transfer.FileOf(&series)
}

// reason gives an error of the file system the C library's text, if rondo knows it.
func reason(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errNoSuchFile
	case errors.Is(err, fs.ErrPermission):
		return errPermission
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// restore makes a series of a dump.
func (c *command) restore(args []string) error {
	var o rrdfile.XMLOptions
	overwrite := false
	args, err := parse(args, restoreOptions, func(name, _ string) error {
		switch name {
		case "range-check":
			o.RangeCheck = true
		case "force-overwrite":
			overwrite = true
		}
		return nil
	})
	if err == nil && len(args) != 2 {
		err = errors.New("usage rrdtool restore [--range-check|-r] [--force-overwrite|-f] file.xml file.rrd")
	}
	if err != nil {
		return err
	}
	f, err := c.readXML(args[0], o)
	if err != nil {
		return err
	}
	name := args[1]
	path, err := c.pathTo("creating", name)
	if err != nil {
		return err
	}
	series, err := transfer.CopyOf(path, f)
	if err != nil {
		return err
	}
	err = c.importSeries(series, overwrite)
	if errors.Is(err, core.ErrExists) {
		return exists(name)
	}
	if err == nil {
		c.made(path)
	}
	return err
}

func (c *command) readXML(name string, o rrdfile.XMLOptions) (*rrdfile.File, error) {
	in := c.Stdin
	if name != "-" {
		if c.Files == nil {
			return nil, errNoFiles
		}
		file, err := c.Files.Open(name)
		if err != nil {
			return nil, NoXML(name)
		}
		defer func() { _ = file.Close() }() // nothing was written
		in = file
	}
	f, err := rrdfile.ReadXML(in, o)
	var wrong *rrdfile.XMLError
	switch {
	case errors.As(err, &wrong):
		return nil, errors.New(wrong.Original())
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("error reading/parsing XML: %w", reason(err))
	}
	return f, err
}

// NoXML returns restore's error for a file that it cannot open.
func NoXML(name string) error { return fmt.Errorf("Could not create xml reader for: %s", name) }
