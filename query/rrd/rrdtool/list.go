package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
)

const listUsage = `[DIRECTORY] [OPTIONS]
  -r, --recursive         series below its directories as well
  -d, --daemon ADDRESS    ask the server at ADDRESS
  -F, --noflush           no effect: rondo has nothing to flush`

// listsAll is a line in the usage of rondo's list, which rrdtool's does not have.
const listsAll = "  rondo list without a DIRECTORY prints every series, one name a line.\n"

var listOptions = optionsIn(listUsage)

// list prints the series and directories of a directory. As in rrdtool, a directory that cannot be
// listed is no failure: the reason goes to stderr, without an end of the line.
func (c *command) list(args []string) error {
	recursive := false
	all := len(args) == 0 && c.Rondo
	args, err := parse(args, listOptions, func(name, arg string) error {
		switch name {
		case "recursive":
			recursive = true
		case "daemon":
			return c.daemon(arg)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if all {
		return Walk(c.ctx, c.Store, "", "", func(s core.Series) error {
			_, err := fmt.Fprintln(c.out, s.Path)
			return err
		})
	}
	if len(args) != 1 {
		return errors.New("Usage: rrdtool list [--daemon <addr> [--noflush]] [--recursive] <directory>")
	}
	name := args[0]
	dir, err := c.Path(name)
	if err != nil || strings.Contains(name, "..") {
		return c.remark(errPermission)
	}
	if name == "" {
		return c.remark(errNoSuchFile)
	}
	return c.listDirectory(name, dir, recursive)
}

// listDirectory prints the series and directories of the directory with the path dir. name is how
// the caller has named it.
func (c *command) listDirectory(name, dir string, recursive bool) (err error) {
	if dir != "" {
		dir += "/"
	}
	shown := false
	show := func(entry string) error {
		shown = true
		_, err := fmt.Fprintln(c.out, entry)
		return err
	}
	if recursive {
		err = Walk(c.ctx, c.Store, dir, "", func(s core.Series) error { return show(s.Path[len(dir):]) })
	} else {
		made := c.madeBelow(dir)
		err = Entries(c.ctx, c.Store, dir, func(entry string, _ bool) error {
			made = slices.DeleteFunc(made, func(name string) bool { return name == entry })
			return show(entry)
		})
		for i := 0; i < len(made) && err == nil; i++ {
			err = show(made[i])
		}
	}
	switch {
	case err != nil || shown:
		return err
	case dir == "", slices.Contains(c.empty, strings.TrimSuffix(dir, "/")):
		return c.remark(errors.New("Success"))
	}
	return c.listSeries(name, strings.TrimSuffix(dir, "/"))
}

// listSeries answers list for a path that is not a directory. name is how the caller has named it.
func (c *command) listSeries(name, path string) error {
	there, err := IsSeries(c.Store, path)
	switch {
	case err != nil:
		return err
	case there && strings.HasSuffix(name, ".rrd") && strings.Contains(name, "/"):
		_, err := fmt.Fprintln(c.out, path[strings.LastIndexByte(path, '/')+1:])
		return err
	case there && strings.HasSuffix(name, ".rrd"):
		return c.remark(errors.New("Invalid argument"))
	case there:
		return c.remark(errNotDirectory)
	}
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		if there, err := IsSeries(c.Store, path[:i]); err != nil {
			return err
		} else if there {
			return c.remark(errNotDirectory)
		}
	}
	return c.remark(errNoSuchFile)
}

// A finder looks series up.
type finder interface {
	Lookup(path string) (core.Ref, error)
	Series(ref core.Ref) (core.Series, error)
}

// IsSeries reports whether a series has exactly this path. Unlike Lookup, it does not add or remove
// an ending .rrd.
func IsSeries(s finder, path string) (bool, error) {
	ref, err := s.Lookup(path)
	var series core.Series
	if err == nil {
		series, err = s.Series(ref)
	}
	if errors.Is(err, core.ErrNotFound) {
		return false, nil
	}
	return series.Path == path, err
}

var errNotDirectory = errors.New("Not a directory")

// madeBelow returns the names of the folders in a directory that mkdir has made, each once.
func (c *command) madeBelow(dir string) (names []string) {
	for _, path := range c.empty {
		rest, ok := strings.CutPrefix(path, dir)
		if name, _, _ := strings.Cut(rest, "/"); ok && name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (c *command) remark(what error) error {
	_, err := fmt.Fprint(c.Stderr, what)
	return err
}

var errEnough = errors.New("enough")

// Walk calls fn for the series whose path begins with prefix and sorts behind after, in the order
// of their paths. It ends at the first error of fn and returns it.
func Walk(ctx context.Context, s Store, prefix, after string, fn func(core.Series) error) error {
	for series, err := range s.Select(ctx, core.Query{Prefix: prefix, After: after, Order: core.ByPath}) {
		if err != nil {
			return err
		}
		if err := fn(series); err != nil {
			return err
		}
	}
	return nil
}

// Entries calls fn for the entries of a folder, in the order of their paths: series, and folders
// with series below them. dir is the path of the folder, ending with a slash, or "" for the top.
func Entries(ctx context.Context, s Store, dir string, fn func(name string, folder bool) error) error {
	last, after := "", "" // the last folder, and where the walk starts
	passed := 0           // series of the last folder that were skipped
	for more := true; more; {
		more = false
		err := Walk(ctx, s, dir, after, func(x core.Series) error {
			name, _, folder := strings.Cut(x.Path[len(dir):], "/")
			switch {
			case !folder:
				return fn(name, false)
			case name != last:
				last, passed = name, 0
				return fn(name, true)
			}
			if passed++; passed != manyPassed { // only once: a path may sort behind the new start
				return nil
			}
			after, more = dir+name+"/\xff", true // start again behind the series of the folder
			return errNext
		})
		if err != nil && !errors.Is(err, errNext) {
			return err
		}
	}
	return nil
}

// manyPassed is how many series of a folder are skipped before the walk starts again behind the
// folder. Starting again costs more than skipping a few series.
const manyPassed = 4096

// errNext ends a walk that starts again elsewhere.
var errNext = errors.New("next")
