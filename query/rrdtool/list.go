package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rondo-db/rondo/engine"
)

const listUsage = `[DIRECTORY] [OPTIONS]
  Without a DIRECTORY, every series, one name a line.
  -r, --recursive         series below its directories as well
  -d, --daemon ADDRESS    ask the server at ADDRESS
  -F, --noflush           no effect: rondo has nothing to flush`

var listOptions = []option{{"recursive", 'r', false}, {"daemon", 'd', true}, {"noflush", 'F', false}}

// list prints the series and directories of a directory. What rrdtool says of
// directories it cannot list goes to stderr without a line end, and is no failure.
func (c *command) list(args []string) error {
	recursive := false
	all := len(args) == 0 && !c.exact
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
		return Walk(c.ctx, c.Store, "", "", func(s engine.Series) error {
			_, err := fmt.Fprintln(c.out, s.Path)
			return err
		})
	}
	if len(args) != 1 {
		return errors.New("Usage: rrdtool list [--daemon <addr> [--noflush]] [--recursive] <directory>")
	}
	name := args[0]
	dir, err := c.path(name)
	if err != nil || strings.Contains(name, "..") {
		return c.remark(errPermission)
	}
	if name == "" {
		return c.remark(errNoSuchFile)
	}
	if dir != "" {
		dir += "/"
	}
	found, shown := false, false
	for after, more := "", true; more; {
		more = false
		err = Walk(c.ctx, c.Store, dir, after, func(s engine.Series) error {
			found = true
			entry := s.Path[len(dir):]
			sub, _, deep := strings.Cut(entry, "/")
			if deep && !recursive { // go on behind what lies below it
				entry, after, more = sub, dir+sub+"/\xff", true
			}
			shown = true
			if _, err := fmt.Fprintln(c.out, entry); err != nil || more {
				return cmp.Or(err, errEnough)
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			err = nil
		}
	}
	switch {
	case err != nil || shown:
		return err
	case found || dir == "":
		return c.remark(errors.New("Success"))
	}
	if _, err := c.Store.Lookup(strings.TrimSuffix(dir, "/")); err != nil {
		return c.remark(errNoSuchFile)
	}
	if strings.HasSuffix(strings.TrimRight(name, "/"), ".rrd") {
		return c.remark(errors.New("Invalid argument"))
	}
	return c.remark(errors.New("Not a directory"))
}

func (c *command) remark(what error) error {
	_, err := fmt.Fprint(c.Stderr, what)
	return err
}

var errEnough = errors.New("enough")

// Walk calls fn for the series whose path begins with prefix and sorts after
// after, in order of paths, until it returns an error.
func Walk(ctx context.Context, s Store, prefix, after string, fn func(engine.Series) error) error {
	for series, err := range s.List(ctx, prefix, after) {
		if err != nil {
			return err
		}
		if err := fn(series); err != nil {
			return err
		}
	}
	return nil
}
