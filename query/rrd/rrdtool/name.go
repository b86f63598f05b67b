package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
)

// The errors of the C library that rrdtool reports about files, and rondo about series.
var (
	errNoSuchFile = errors.New("No such file or directory")
	errPermission = errors.New("Permission denied")
)

// Path returns the path of the series that a file name means: see [Path].
func (e *Env) Path(name string) (string, error) {
	dir := e.Dir
	if strings.HasPrefix(dir, "/") { // outside Base
		if into := path.Join(dir, name); name != "" && name[0] != '/' {
			for _, base := range []string{e.Base, e.RealBase} {
				if p, err := Path("", base, into); base != "" && err == nil {
					return p, nil
				}
			}
		}
		dir = ""
	}
	p, err := Path(dir, e.Base, name)
	if err != nil && e.RealBase != "" {
		p, err = Path(dir, e.RealBase, name)
	}
	return p, err
}

// Path returns the path of the series that a file name means. dir and base are described at [Env].
// Path removes "." and "//". A ".." that leads above the top, and an absolute name outside base,
// are errors with rrdtool's text for a file that it may not open.
func Path(dir, base, name string) (string, error) {
	rest, absolute := strings.CutPrefix(name, "/")
	if absolute {
		dir = ""
		if base != "" {
			base := "/" + strings.Trim(base, "/")
			inside, ok := strings.CutPrefix("/"+strings.TrimLeft(rest, "/"), base)
			if !ok || base != "/" && inside != "" && inside[0] != '/' {
				return "", errPermission
			}
			rest = inside
		}
	}
	var parts []string
	for part := range strings.SplitSeq(dir+"/"+rest, "/") {
		switch part {
		case "", ".":
		case "..":
			if len(parts) == 0 {
				return "", errPermission
			}
			parts = parts[:len(parts)-1]
		default:
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/"), nil
}

// pathTo returns the path of the series that a file name means. doing is what the caller wants of
// the file, for the error.
func (c *command) pathTo(doing, name string) (string, error) {
	path, err := c.Path(name)
	if err == nil && path == "" {
		err = errNoSuchFile
	}
	if err != nil {
		return "", fmt.Errorf("%s '%s': %w", doing, name, err)
	}
	return path, nil
}

// lookup returns the series that a file name means.
func (c *command) lookup(name string) (core.Ref, error) {
	path, err := c.pathTo("opening", name)
	if err != nil {
		return 0, err
	}
	ref, err := c.Store.Lookup(path)
	return ref, named(name, err)
}

// named replaces an error of the store by rrdtool's text for it.
func named(name string, err error) error {
	if errors.Is(err, core.ErrNotFound) {
		return fmt.Errorf("opening '%s': %w", name, errNoSuchFile)
	}
	return err
}
