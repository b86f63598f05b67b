package rrdcached

import (
	"context"
	"errors"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
)

var errNoSeries = errors.New("names no series")

// maxAgain is how often a name is looked up again because its series has ended meanwhile.
const maxAgain = 50

// lookup returns the alias of a name as the client wrote it. The error wraps core.ErrNotFound if no
// series has that name.
func (s *Server) lookup(raw []byte) (*alias, error) { return s.lookupBy(raw, s.find) }

// lookupBy is lookup with another function to find the series of a path.
func (s *Server) lookupBy(raw []byte, find func(path string) (core.Ref, error)) (*alias, error) {
	if e := s.cache.get(raw); e != nil {
		return e, nil
	}
	renames := s.o.Store.Renames()
	path, err := s.names.path(string(wire.Unescape(raw)))
	if err != nil {
		return nil, err
	}
	if path == "" {
		return nil, errNoSeries
	}
	for tries := 0; ; tries++ {
		ref, err := find(path)
		if err != nil {
			return nil, err
		}
		series, err := core.SeriesOf(context.Background(), s.o.Store, ref)
		switch {
		case err == nil:
			return s.cache.put(renames, raw, path, ref, series.Definition), nil
		case !errors.Is(err, core.ErrNotFound) || tries == maxAgain:
			return nil, err
		} // else another series has taken its place meanwhile
	}
}

// noFile returns rrdcached's text for an UPDATE whose series was not found.
func (s *Server) noFile(name []byte, err error) string {
	file := s.names.file(string(name))
	switch {
	case errors.Is(err, errNoSeries):
		return "Not a regular file: " + file
	case errors.Is(err, errLeaves):
		return file + ": " + errLeaves.Error()
	case errors.Is(err, core.ErrNotFound):
		return "No such file: " + file
	}
	return explain(err)
}

// read calls get with the series of a name. If the series has ended, which includes being altered
// or overwritten, read looks the name up again and repeats the call.
func (c *conn) read(e *alias, get func(e *alias) error) error {
	for tries := 0; ; tries++ {
		err := get(e)
		if !errors.Is(err, core.ErrNotFound) || tries == maxAgain {
			return err
		}
		c.s.cache.drop(e)
		if e, err = c.s.lookup([]byte(e.raw)); err != nil {
			return err
		}
	}
}
