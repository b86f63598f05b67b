package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/wal"
)

// Several stores may share one log, which is not in the folder of any of them: Options.OpenLog and
// Options.Follow. One of them is the leader and writes the log. The others follow: they read the
// log without end and apply it. All of them hold the same at the same position.

// A Role is the part that a store plays in its log.
type Role int32

// The roles of a store.
const (
	// Leader: the store writes its log. A store without Options.Follow is always the leader.
	Leader Role = iota
	// Follower: the store applies what another process writes, and refuses writes.
	Follower
	// Halted: the store cannot follow, and refuses writes. It is read as it was at its position.
	// [Standing] says why.
	Halted
)

// String returns the name of the role.
func (r Role) String() string {
	switch r {
	case Leader:
		return "leader"
	case Follower:
		return "follower"
	case Halted:
		return "halted"
	}
	return fmt.Sprintf("role %d", int32(r))
}

// Errors of stores that share a log.
var (
	// ErrNotLeader says that a store does not lead, or does not lead any more, so that it cannot
	// write. Nothing of the call was stored: the same call may be made of the leader. It wraps
	// ErrUnavailable.
	ErrNotLeader = fmt.Errorf("store is not the leader of its log: %w", ErrUnavailable)
	// ErrOtherLog says that a log is not the one that the database belongs to.
	ErrOtherLog = errors.New("the log is of another database")
)

// A Source reads a log that another process may be writing.
type Source interface {
	// Tail calls fn, in order, for each durable record from position from on, and then for each
	// record that becomes durable. The record is valid during the call. Tail returns only if it
	// must: the error is ctx's, or that of fn as it is, or it is told apart as those of a [Log].
	Tail(ctx context.Context, from wal.Pos, fn func(p wal.Pos, rec []byte) error) error

	// Last returns the newest position that is known; 0: none is.
	Last() wal.Pos

	// Close ends the source. Tail is not running.
	Close() error
}

// A Standing is what a store is to its log, and how far it has come.
type Standing struct {
	Role Role
	// Position: every record up to it is applied.
	Position wal.Pos
	// Newest is the newest position of the log that the store knows.
	Newest wal.Pos
	// Log is the identity of the log that the database belongs to. It is zero while that is not
	// known, and of a log that has none.
	Log wal.ID
	// Err says why a store is Halted, or why a Follower has lost the log for now. A store that is
	// Halted because it lacks records (wal.ErrTruncated, wal.ErrHole, *wal.CorruptError), because
	// the log is another one (ErrOtherLog), or because its database is damaged (ErrDamaged) takes
	// its place again from a backup of another store: see RestoreReplica.
	Err error
}

// Standing returns the standing of the store, and a channel that is closed when Role or Err have
// changed since.
func (s *Store) Standing() (Standing, <-chan struct{}) { return s.replica.standing() }

// Role returns the part that the store plays in its log now. It may change at any time from Leader
// to Follower, and from Follower to Halted.
func (s *Store) Role() Role { return Role(s.replica.role.Load()) }

// Position returns the position up to which every record of the log is applied. Later records may
// be applied in part.
func (s *Store) Position() wal.Pos { return s.checkpoints.appliedPos() }

// Acknowledged returns a position of the log at or above those of all changes that the store has
// acknowledged. A store that has reached it shows them all.
func (s *Store) Acknowledged() wal.Pos { return max(s.replica.newest(), s.Position()) }

// Checkpointed returns the position up to which the database holds the log: after a restart the
// store needs the records behind it.
func (s *Store) Checkpointed() wal.Pos { return s.catalogue.checkpointed() }

// WaitFor waits until every record up to position p is applied. The error is ctx's, ErrClosed, or
// says why the store is Halted.
func (s *Store) WaitFor(ctx context.Context, p wal.Pos) error {
	if s.Position() >= p {
		return nil
	}
	if err := s.replica.await(ctx, p); err != nil {
		return fmt.Errorf("wait for log position %d, at %d: %w", p, s.Position(), err)
	}
	return nil
}

// Truncate allows the log to drop the records at and below upto. It keeps what the store needs
// after a restart, and what a backup under way will copy. Of a log that stores share, nothing else
// drops records: a checkpoint of one store does not know what the others need. The error wraps
// ErrNotLeader if the store does not lead.
func (s *Store) Truncate(upto wal.Pos) error {
	if err := s.enterLead(); err != nil {
		return err
	}
	defer s.leave()
	cp := &s.checkpoints
	cp.truncating <- struct{}{}
	defer func() { <-cp.truncating }()
	cp.mu.Lock()
	b := cp.droppable(min(upto, s.Checkpointed()))
	cp.mu.Unlock() // servers of the log may not answer: checkpoints and backups go on
	if err := cp.appender.log.get().Truncate(b); err != nil {
		return fmt.Errorf("truncate the log: %w", s.replica.lost(err))
	}
	return nil
}

// Promote makes a follower the leader: it opens the log for writing, which ends the leader before,
// and applies what lies between. When Promote returns, the store holds everything that was ever
// acknowledged, and accepts writes. If it returns an error, the store follows as before. A leader
// stays the leader. A store that is Halted is refused before it opens the log.
func (s *Store) Promote(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if err := s.replica.promote(ctx); err != nil {
		return fmt.Errorf("become the leader: %w", err)
	}
	return nil
}

// Demote makes a leader a follower. Writes that are on their way are answered first; from then on
// writes get ErrNotLeader. The error is that of closing the log: what was on its way was answered
// with an error too, and the store follows all the same. A store that is Halted tries to follow
// again.
func (s *Store) Demote(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if err := s.replica.demote(ctx); err != nil {
		return fmt.Errorf("stop leading: %w", err)
	}
	return nil
}
