package rrdcached

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

// A server that takes rrdcached's place finds the files that rrdcached kept. A series that a client
// names and that is not there is made of the native file of its name below the base, with every
// row, before the client is answered. The file stays as it is.

// adopt makes series of the native files of paths. The result has an entry for each path of which
// there is a file: nil, or why it is no series.
func (s *Server) adopt(ctx context.Context, paths []string) map[string]error {
	if !s.o.Adopt {
		return nil
	}
	root, err := os.OpenRoot(s.names.base)
	if err != nil {
		return nil // there is no such folder: there are no files
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

// adoptSome is adopt for so many paths as there may be open files. It puts into files what has
// become of each.
func (s *Server) adoptSome(ctx context.Context, root *os.Root, paths []string, files map[string]error) {
	asked := make(map[string]string) // by path of the series
	var items []transfer.Item
	for _, path := range paths {
		for _, file := range []string{path, path + ".rrd"} {
			if asked[file] != "" {
				break
			}
			// What is looked at is what is read: its name may mean another file by then.
			if f := openNative(root, file); f != nil {
				defer func() { _ = f.Close() }() // a second time, if it was read
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
	s.adopting.Lock() // memory is bounded for one of them
	defer s.adopting.Unlock()
	queue := make(chan transfer.Item, len(items))
	for _, item := range items {
		queue <- item
	}
	close(queue)
	err := transfer.Import(ctx, s.o.Store, transfer.Options{Jobs: 2}, queue, func(r transfer.Result) {
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

// openNative opens a native file below a folder; nil: there is none of that name, or links lead out
// of the folder. It waits for no pipe.
func openNative(root *os.Root, name string) *os.File {
	f, err := root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil
	}
	head := make([]byte, 8)
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		n, _ := f.ReadAt(head, 0) // a shorter file is none
		if transfer.IsNative(head[:n]) {
			return f
		}
	}
	_ = f.Close() // nothing was written
	return nil
}

// find returns the series of a path, also one that is a file yet. The error wraps core.ErrNotFound
// if there is neither.
func (s *Server) find(path string) (core.Ref, error) {
	ref, err := s.o.Store.Lookup(path)
	if !errors.Is(err, core.ErrNotFound) || !s.o.Adopt {
		return ref, err
	}
	why := s.adopt(s.life, []string{path})[path]
	// else another client may have been quicker
	if ref, err = s.o.Store.Lookup(path); err != nil && why != nil {
		err = why
	}
	return ref, err
}

// finding is the store as verbs see it: files are series.
type finding struct {
	*core.Store
	s *Server
}

func (f finding) Lookup(path string) (core.Ref, error) { return f.s.find(path) }
