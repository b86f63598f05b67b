package rrdcached

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
	"github.com/rondo-db/rondo/query/rrd/transfer"
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

// A server that replaces rrdcached adopts the files that rrdcached kept. If a client names a series
// that does not exist, and a native file of its name stands below the base, the file is imported
// with all its rows before the client is answered. The file itself stays unchanged.

// adopt imports the native files of paths. The result has an element for each path that has a file:
// nil, or the error of the import.
func (s *Server) adopt(ctx context.Context, paths []string) map[string]error {
	if !s.o.Adopt {
		return nil
	}
	root, err := os.OpenRoot(s.names.base)
	if err != nil {
		return nil // without the folder there are no files
	}
	defer func() { _ = root.Close() }() // nothing was written
	files := make(map[string]error)
	for some := range slices.Chunk(paths, maxOpen) {
		s.adoptSome(ctx, root, some, files)
	}
	return files
}

// maxOpen is how many files are open at once.
const maxOpen = 64

// adoptSome is adopt for at most maxOpen paths. It puts its results into files.
func (s *Server) adoptSome(ctx context.Context, root *os.Root, paths []string, files map[string]error) {
	asked := make(map[string]string) // by path of the series
	var items []transfer.Item
	for _, path := range paths {
		for _, file := range []string{path, path + ".rrd"} {
			if asked[file] != "" {
				break
			}
			// The file stays open until it is imported, because its name may mean another file by
			// then.
			if f := openNative(root, file); f != nil {
				defer func() { _ = f.Close() }() // the import may have closed it already
				asked[file] = path
				items = append(items, transfer.Item{Index: len(items), Path: file, Name: filepath.Join(s.names.base, file), File: f})
				break
			}
			if strings.HasSuffix(path, ".rrd") {
				break
			}
		}
	}
	if len(items) == 0 {
		return
	}
	s.adopting.Lock() // memory is bounded for one import
	defer s.adopting.Unlock()
	queue := make(chan transfer.Item, len(items))
	for _, item := range items {
		queue <- item
	}
	close(queue)
	err := transfer.Import(ctx, core.Simple{Engine: s.o.Store}, transfer.Options{Jobs: 2}, queue, func(r transfer.Result) {
		files[asked[r.Path]] = r.Err
		if r.Outcome == transfer.Imported {
			s.o.Logger.Info("a file of rrdtool's is a series now", "file", r.Name)
		}
	})
	if err != nil {
		for _, path := range asked {
			files[path] = err
		}
	}
}

// openNative opens a native file below a folder. It returns nil if there is no such file, or if
// symbolic links lead out of the folder. It does not block on a named pipe.
func openNative(root *os.Root, name string) *os.File {
	f, err := root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil
	}
	head := make([]byte, 8)
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		n, _ := f.ReadAt(head, 0) // a shorter file is not native
		if transfer.IsNative(head[:n]) {
			return f
		}
	}
	_ = f.Close() // nothing was written
	return nil
}

// find returns the series of a path. It adopts a native file of that path if there is no series.
// The error wraps core.ErrNotFound if there is neither.
func (s *Server) find(path string) (core.Ref, error) {
	ref, err := s.o.Store.Lookup(path)
	if !errors.Is(err, core.ErrNotFound) || !s.o.Adopt {
		return ref, err
	}
	why := s.adopt(s.life, []string{path})[path]
	// another client may have made the series meanwhile, so errors of adopting come second
	if ref, err = s.o.Store.Lookup(path); err != nil && why != nil {
		err = why
	}
	return ref, err
}

// finding is the store for verbs. It adopts native files that a verb names.
type finding struct {
	core.Simple
	s *Server
}

func (f finding) Lookup(path string) (core.Ref, error) { return f.s.find(path) }
