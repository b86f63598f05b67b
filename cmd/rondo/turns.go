package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc"
)

// A turns is the store of pipe mode where no server runs, and its input. When nothing is asked for a while it lets the database go, so that
// others come to it, and takes it up again with the next command.
type turns struct {
	maker
	ctx     context.Context
	in      io.Reader
	renames uint64 // of the stores that were let go, and one for each
	gone    bool   // it was let go
	within  bool   // what was read last ends within a line
	rest    []byte // read, and not yet passed on
	err     error  // of in, to be told behind rest
	more    chan piece
	// server is the one that has taken the database meanwhile. The input ends for the store, and is then the server's.
	server *rpc.Client
}

// errServer says that a server has begun to run.
var errServer = errors.New("a server has the database now")

// take opens the database, if there is one. It returns the server where one runs. Who may not write may read.
func (s *turns) take() (*rpc.Client, error) {
	o, err := s.open(s.ctx, core.Options{}, false)
	if errors.Is(err, fs.ErrPermission) {
		if reading, e := s.open(s.ctx, core.Options{ReadOnly: true}, false); e == nil {
			o, err = reading, nil
		}
	}
	if err != nil {
		return nil, err
	}
	s.store, s.gone = o.store, false
	return o.client, nil
}

// letGo closes the database. References to its series may mean others when it is open again: the count of renamed ones has changed then.
func (s *turns) letGo() error {
	if s.store == nil {
		return nil
	}
	s.renames, s.gone = s.Renames()+1, true
	err := s.store.Close()
	s.store = nil
	return err
}

// Renames counts the series that were renamed, and the times that the database was let go.
func (s *turns) Renames() uint64 { return s.renames + s.maker.Renames() }

// Metadata is that of the store.
func (s *turns) Metadata(path string) (core.Metadata, error) {
	if s.store == nil {
		return core.Metadata{}, core.ErrNotFound
	}
	return s.store.Metadata(path)
}

// Notes are those of the store.
func (s *turns) Notes(ctx context.Context, key string) (map[string][]core.Note, error) {
	if s.store == nil {
		return nil, core.ErrNotFound
	}
	return s.store.Notes(ctx, key)
}

// Read reads the input. What it returns may be carried out: the database is there.
func (s *turns) Read(b []byte) (int, error) {
	if len(s.rest) == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	if n > 0 {
		s.within = b[n-1] != '\n'
	}
	return n, nil
}

// next waits for input.
func (s *turns) next() error {
	if s.err != nil {
		return s.err
	}
	if s.more == nil {
		s.more = make(chan piece)
		go readPieces(s.ctx, s.in, s.more)
	}
	var silent <-chan time.Time
	if s.store != nil && !s.within {
		wait := time.NewTimer(silence)
		defer wait.Stop()
		silent = wait.C
	}
	for {
		select {
		case p := <-s.more:
			s.rest, s.err = p.b, p.err
			if len(p.b) == 0 {
				return p.err
			}
			if !s.gone {
				return nil
			}
			server, err := s.take()
			if err == nil && server != nil {
				s.server, s.gone, err = server, false, errServer
			}
			if err != nil && s.server == nil {
				s.err = err
			}
			return err
		case <-silent:
			silent = nil
			if s.err = s.letGo(); s.err != nil {
				return s.err
			}
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}
