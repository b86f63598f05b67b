package rrdcached

//lint:file-ignore ST1005 The messages are rrdcached's.

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// names turns the file names of clients into paths of series, and back.
type names struct {
	base string // a clean absolute path; never empty
	real string // base without symbolic links, as clients on this machine send it
}

func newNames(base string) (names, error) {
	if base == "" {
		base = "."
	}
	abs, err := filepath.Abs(base)
	if err != nil {
		return names{}, err
	}
	n := names{base: abs, real: abs}
	if r, err := filepath.EvalSymlinks(abs); err == nil { // the folder may be missing
		n.real = r
	}
	return n, nil
}

var errLeaves = errors.New("Permission denied")

// A nameError says that a name is invalid for a series.
type nameError struct {
	name string
	err  error
}

func (e *nameError) Error() string { return fmt.Sprintf("%.200q %v", e.name, e.err) }
func (e *nameError) Unwrap() error { return e.err }

// path returns the path of the series that a client names. It is empty for the base itself. A name
// outside the base is refused.
func (n *names) path(name string) (string, error) {
	p, err := (&rrdtool.Env{Base: n.base, RealBase: n.real}).Path(name)
	if err != nil {
		return "", errLeaves
	}
	if err := text.Printable(p); err != nil {
		return "", &nameError{name, err}
	}
	return p, nil
}

// file returns the absolute name that rrdcached prints in its answers.
func (n *names) file(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	if n.base == "/" {
		return "/" + name
	}
	return n.base + "/" + name
}
