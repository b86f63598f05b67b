package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rondo-db/rondo/wal"
)

// A replica is what a store needs to share its log with others. In a store that has its log to
// itself it stands still: the store leads as long as it is open.
//
// The role changes in three ways: by Promote, by Demote, and when the log says that another process
// writes it now (wal.ErrSealed). In all of them the catalogue, the groups and their rows stay in
// memory, because they hold what was applied, and only durable records are applied. What a leader
// has coded and not applied is in the queue of the appender alone. It fails with the log, as any
// write that the log refuses, and the coding contexts then follow what is applied.
type replica struct {
	s    *Store
	role atomic.Int32
	// waiting counts the callers of WaitFor: shards announce each position while there are any.
	waiting atomic.Int32
	closed  atomic.Bool   // the role does not change any more
	closing chan struct{} // closed when closed is set
	// stepping counts the goroutine that makes a follower of a leader whose log was sealed.
	stepping sync.WaitGroup

	digests digests

	// changing is held while the role changes, and guards what follows. It is taken before every
	// other lock of the store.
	changing sync.Mutex
	floor    wal.Pos // a group of the database may have been this far when the store was opened
	stop     context.CancelFunc
	stopped  chan struct{} // closed when the goroutine that follows has returned; nil: none runs

	mu     sync.Mutex // guards what follows; taken last and alone
	id     wal.ID     // of the log; zero: not known yet
	source Source     // that is followed; nil: none is open
	// stopTail ends the Tail of source.
	stopTail context.CancelFunc
	err      error         // see Standing
	changed  chan struct{} // closed when role or err change; nil: nobody waits
	moved    chan struct{} // closed when the position grows too; nil: nobody waits
}

func (r *replica) init(s *Store) {
	r.s, r.closing = s, make(chan struct{})
	r.digests.s, r.digests.taking = s, make(chan struct{}, 1)
	if s.options.Follow != nil {
		r.role.Store(int32(Follower))
	}
}

// newest returns the newest position of the log that is known.
func (r *replica) newest() wal.Pos {
	p := r.s.log.get().Last()
	r.mu.Lock()
	source := r.source
	r.mu.Unlock()
	if source != nil {
		p = max(p, source.Last())
	}
	return p
}

// become notes a role, and why it is not what it should be. It wakes whoever waits.
func (r *replica) become(role Role, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.role.Store(int32(role))
	r.err = err
	r.wake(&r.changed)
	r.wake(&r.moved)
}

// wake closes a channel that somebody may wait for. The caller holds mu.
func (r *replica) wake(c *chan struct{}) {
	if *c != nil {
		close(*c)
		*c = nil
	}
}

// move shows whoever waits that the position may have grown.
func (r *replica) move() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wake(&r.moved)
}

// await waits until the position is p, or the store is Halted.
func (r *replica) await(ctx context.Context, p wal.Pos) error {
	r.waiting.Add(1)
	defer r.waiting.Add(-1)
	for {
		r.mu.Lock()
		if r.moved == nil {
			r.moved = make(chan struct{})
		}
		moved, err := r.moved, r.err
		halted := Role(r.role.Load()) == Halted
		r.mu.Unlock()
		switch {
		case r.s.Position() >= p:
			return nil
		case halted:
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		case <-r.closing:
			return ErrClosed
		}
	}
}

// meet compares the identity of a log, or of a source, with the log's that the database belongs to.
// A log without an identity is trusted, as is the first one that a new database meets.
func (r *replica) meet(log any) error {
	l, ok := log.(identifiedLog)
	if !ok {
		return nil
	}
	id := l.ID()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case id == wal.ID{} || id == r.id:
		return nil
	case r.id == wal.ID{}:
		r.id = id
		return nil
	}
	return fmt.Errorf("%w: it has the id %v, the database is of the log %v", ErrOtherLog, id, r.id)
}

// log returns the identity of the log, or zeros as long as that is not known.
func (r *replica) log() wal.ID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.id
}

// lost returns err, the error of a write or of a call of the log. If another process writes the log
// now, the store stops leading, and the error wraps ErrNotLeader.
func (r *replica) lost(err error) error {
	if r.s.options.Follow == nil || !errors.Is(err, wal.ErrSealed) {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed.Load() && r.role.CompareAndSwap(int32(Leader), int32(Follower)) {
		r.wake(&r.changed)
		r.stepping.Go(func() { r.stepDown(err) })
	}
	return fmt.Errorf("%w: %w", ErrNotLeader, err)
}

// stepDown makes a follower of a leader whose log was sealed, because of err.
func (r *replica) stepDown(err error) {
	r.changing.Lock()
	defer r.changing.Unlock()
	if r.closed.Load() || r.s.Role() == Leader || r.s.following() {
		return // somebody else was faster
	}
	why := "another process writes the log now: this store stops leading and follows"
	if errors.Is(err, wal.ErrLost) {
		why = "the log has lost records: this store stops leading and follows"
	}
	r.s.options.Logger.Warn(why, "position", uint64(r.s.Position()), "err", err)
	if err := r.resign(); err != nil {
		r.s.options.Logger.Warn("the log was closed with an error", "err", err)
	}
	r.follow()
}

// resign closes the log of a leader: what is on its way is answered. The caller holds changing.
func (r *replica) resign() error {
	a := &r.s.appender
	old := r.s.log.get()
	a.mu.Lock()
	r.s.log.set(&followedLog{r.s})
	a.stale = true
	a.mu.Unlock()
	err := old.Close()
	a.drain()
	r.s.failpoint("demote-closed")
	return err
}

// demote is Store.Demote.
func (r *replica) demote(ctx context.Context) error {
	if r.s.options.Follow == nil {
		return invalid("the store has no Options.Follow")
	}
	r.changing.Lock()
	defer r.changing.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.closed.Load() {
		return ErrClosed
	}
	if r.s.following() {
		if r.s.Role() == Halted && r.s.loader.failure.Load() == nil {
			r.unfollow()
			r.follow()
		}
		return nil
	}
	r.role.Store(int32(Follower))
	err := r.resign()
	r.follow()
	return err
}

// promote is Store.Promote.
func (r *replica) promote(ctx context.Context) (err error) {
	if r.s.options.Follow == nil || r.s.options.OpenLog == nil {
		if r.s.Role() == Leader {
			return nil
		}
		return invalid("the store has no Options.OpenLog")
	}
	r.changing.Lock()
	defer r.changing.Unlock()
	switch {
	case r.closed.Load():
		return ErrClosed
	case r.s.Role() == Leader:
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.halted(); err != nil { // it must not end the leader that there is
		return err
	}
	if !r.s.following() { // its log was sealed a moment ago
		_ = r.resign() // what was on its way was answered
	}
	r.unfollow()
	if e := r.s.loader.failure.Load(); e != nil { // the last record could not be applied
		r.follow()
		return *e
	}
	if err := r.lead(ctx); err != nil {
		r.follow()
		return err
	}
	r.become(Leader, nil)
	r.s.options.Logger.Info("this store leads", "position", uint64(r.s.Position()))
	return nil
}

// halted returns why the store is Halted, or nil.
func (r *replica) halted() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if Role(r.role.Load()) != Halted {
		return nil
	}
	return r.err
}

// lead opens the log for writing and applies what the store lacks. After an error the log is closed
// again. The caller holds changing, and nobody follows.
func (r *replica) lead(ctx context.Context) error {
	s := r.s
	l, err := s.options.OpenLog(max(r.floor, s.Position()), s.appender.durable)
	if err != nil {
		return fmt.Errorf("open the log for writing: %w", err)
	}
	s.failpoint("promote-log")
	if err = r.meet(l); err == nil {
		err = r.catchUp(ctx, l)
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	s.appender.mu.Lock()
	s.log.set(l)
	s.appender.stale = true // the contexts follow what was applied
	s.appender.mu.Unlock()
	err = s.logSettings()
	if errors.Is(err, wal.ErrFull) { // a leader can truncate the log
		s.options.Logger.Warn("the log is full: the reorder window stays as it was", "err", err)
		err = nil
	}
	if err != nil {
		return errors.Join(err, r.resign())
	}
	return nil
}

// catchUp applies the records of the log that the store lacks.
func (r *replica) catchUp(ctx context.Context, l Log) error {
	in := newInbox(r.s, r.s.Position()+1)
	in.start(ctx)
	err := l.Replay(in.next, func(p wal.Pos, rec []byte) error { return in.add(p, rec) })
	if e := in.finish(); e != nil {
		return e
	}
	if err != nil {
		return fmt.Errorf("apply what the store lacks: %w", err)
	}
	r.s.passed(l.Last())
	r.s.failpoint("promote-applied")
	return nil
}

// close ends following, and all changes of the role. It may be called again.
func (r *replica) close() {
	r.mu.Lock() // see lost
	again := r.closed.Swap(true)
	r.mu.Unlock()
	if again {
		return
	}
	close(r.closing)
	r.changing.Lock()
	r.unfollow()
	r.changing.Unlock()
	r.stepping.Wait()
	r.digests.close()
}

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
	// must: the error is ctx's, or fn's as it is, or it is distinguished as in a [Log].
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
	// Damaged says that some of the database is known to be damaged: see Stats.Damaged.
	Damaged bool
}

// Standing returns the standing of the store, and a channel that is closed when Role or Err have
// changed since.
func (s *Store) Standing() (Standing, <-chan struct{}) {
	r := &s.replica
	r.mu.Lock()
	st := Standing{Role: s.Role(), Err: r.err, Log: r.id, Damaged: s.damage.Count() > 0}
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	changed := r.changed
	r.mu.Unlock()
	st.Position = s.Position() // after the role: a halted store's is the last one
	st.Newest = r.newest()
	return st, changed
}

// Role returns the part that the store plays in its log now. It may change at any time from Leader
// to Follower, and from Follower to Halted.
func (s *Store) Role() Role { return Role(s.replica.role.Load()) }

// Position returns the position up to which every record of the log is applied. Later records may
// be applied in part.
func (s *Store) Position() wal.Pos { return s.checkpoints.appliedPos() }

// Acknowledged returns a position of the log at or above every change that the store has
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
	cp.truncating.Lock()
	defer cp.truncating.Unlock()
	cp.mu.Lock()
	b := cp.droppable(min(upto, s.Checkpointed()))
	cp.mu.Unlock() // servers of the log may not answer: checkpoints and backups go on
	if err := s.log.get().Truncate(b); err != nil {
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
// writes get ErrNotLeader. The error comes from closing the log: what was on its way was answered
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
