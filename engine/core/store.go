package core

import (
	"context"
	"io"
	"sync"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
)

// A Store is an open database folder. Its methods may be called concurrently.
//
// A Store opens and closes its parts and hands calls on to them. doc.go says what each part holds.
type Store struct {
	dir     string
	options Options
	lock    io.Closer // on the folder
	db      *boltfile.File
	log     currentLog
	logged  logMark // of the log, as the database had it when it was opened
	damage  damage.Seen
	space   groupSpace

	catalogue catalogue
	notes     notes
	metadata  metadata

	calls
	admission   admission
	appender    appender
	replica     replica
	loader      loader
	checkpoints checkpointer
	fetchers    sync.Pool // of *fetcher, so that a fetch allocates little but its answer

	counters
}

// newStore returns a store that has opened neither folder nor files.
func newStore(dir string, o Options) *Store {
	s := &Store{dir: dir, options: o.withDefaults()}
	s.admission.init(&s.space, &s.options)
	s.damage.Logger = s.options.Logger
	s.calls.init()
	s.appender.init(s)
	s.loader.s, s.checkpoints.s = s, s
	s.replica.init(s)
	return s
}

// enterWrite is enter for a call that changes something.
func (s *Store) enterWrite() error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.options.ReadOnly {
		s.leave()
		return ErrReadOnly
	}
	return nil
}

// enterLead is enterWrite for a call that writes the log.
func (s *Store) enterLead() error {
	if err := s.enterWrite(); err != nil {
		return err
	}
	if s.Role() != Leader {
		s.leave()
		return ErrNotLeader
	}
	return nil
}

// begin is enterLead and then admit.
func (s *Store) begin(ctx context.Context) error {
	_ = ctx.Err() // panics if ctx is nil, before the call is counted
	if err := s.enterLead(); err != nil {
		return err
	}
	if err := s.admit(ctx); err != nil {
		s.leave()
		return err
	}
	return nil
}

// admit holds a writer back while the queue of the log or the store is full. The error is ctx's, or
// says why there is no room.
func (s *Store) admit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.appender.queue.awaitRoom(ctx); err != nil {
		return err
	}
	return s.admission.wait(ctx)
}

// Checkpoint writes everything applied so far, every Append that has returned, into the database
// and shortens the log.
func (s *Store) Checkpoint(ctx context.Context) error {
	if err := s.enterWrite(); err != nil {
		return err
	}
	defer s.leave()
	s.appender.drain() // one shard may have acknowledged what another has yet to pass over
	return s.checkpoints.run(ctx)
}

// failpoint names a place where a test may end the process. It does nothing outside of tests.
func (s *Store) failpoint(name string) {
	if s.options.hook != nil {
		s.options.hook(name)
	}
}
