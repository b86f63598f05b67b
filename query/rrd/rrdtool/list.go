package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"context"
	"errors"
	"fmt"
	"iter"
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
		_, err := c.show("", true)
		return err
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
func (c *command) listDirectory(name, dir string, recursive bool) error {
	if dir != "" {
		dir += "/"
	}
	shown, err := c.show(dir, recursive)
	switch {
	case err != nil || shown:
		return err
	case dir == "", slices.Contains(c.empty, strings.TrimSuffix(dir, "/")):
		return c.remark(errors.New("Success"))
	}
	return c.listSeries(name, strings.TrimSuffix(dir, "/"))
}

// show prints the entries of a directory, and reports whether there are any.
func (c *command) show(dir string, recursive bool) (shown bool, err error) {
	var made []string
	if !recursive {
		made = c.madeBelow(dir)
	}
	for entry, err := range Entries(c.ctx, c.Store, dir, recursive) {
		if err != nil {
			return shown, err
		}
		shown = true
		entry = strings.TrimSuffix(entry, "/")
		made = slices.DeleteFunc(made, func(name string) bool { return name == entry })
		if _, err := fmt.Fprintln(c.out, entry); err != nil {
			return shown, err
		}
	}
	for _, entry := range made {
		c.printf("%s\n", entry)
	}
	return shown || len(made) > 0, nil
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

// Entries yields the entries of a folder in the order of their paths, up to an error: series, and
// folders with series below them, whose names end with a slash. If recursive, it yields the series
// below these folders in place of the folders. dir is the path of the folder, ending with a slash,
// or "" for the top.
func Entries(ctx context.Context, s Store, dir string, recursive bool) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		last, after := "", "" // the last folder, and where the walk starts
		passed := 0           // series of the last folder that were skipped
		for more := true; more; {
			more = false
			for x, err := range s.Select(ctx, core.Query{Prefix: dir, After: after, Order: core.ByPath}) {
				name := strings.TrimPrefix(x.Path, dir)
				if folder, _, below := strings.Cut(name, "/"); below && !recursive {
					name = folder + "/"
				}
				if err == nil && name == last {
					if passed++; passed != manyPassed { // only once: a path may sort behind the new start
						continue
					}
					after, more = dir+name+"\xff", true // start again behind the series of the folder
					break
				}
				if strings.HasSuffix(name, "/") {
					last, passed = name, 0
				}
				if !yield(name, err) || err != nil {
					return
				}
			}
		}
	}
}

// manyPassed is how many series of a folder are skipped before the walk starts again behind the
// folder. Starting again costs more than skipping a few series.
const manyPassed = 4096
