package core

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/rondo-db/rondo/internal/owner"
	"github.com/rondo-db/rondo/wal"
)

// Open opens the database in the folder dir, and makes folder and database if they are missing.
// When Open returns, every sample that was ever acknowledged can be read. The error wraps ErrLocked
// if another process has the database open, and ErrDamaged if rondo check --repair or rondo wal
// salvage must mend it first.
func Open(dir string, o Options) (*Store, error) {
	if dir == "" { // would mean the working folder
		return nil, invalid("open: the name of the folder is empty")
	}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	s := newStore(dir, o)
	if err := s.open(); err != nil {
		_ = s.abandon() // err is why
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	return s, nil
}

// open takes the folder, opens the database and the log, and replays what the database does not
// hold yet. After an error the caller calls abandon.
func (s *Store) open() (err error) {
	begun := time.Now()
	if s.options.ReadOnly {
		if err := hasDatabase(s.dir); err != nil {
			return err
		}
	} else if err := owner.MkdirAll(s.dir, 0o700); err != nil {
		return err
	} else if err := checkForeign(s.dir); err != nil {
		return err
	}
	if s.lock, err = lockFolder(filepath.Join(s.dir, fileLock), s.options); err != nil {
		return err
	}
	if err := HalfRestored(s.dir); err != nil {
		return err
	}
	if !s.options.ReadOnly {
		_ = os.Remove(filepath.Join(s.dir, dirRestore)) // fails if it is not empty
		removeLeft(s.dir)
	}
	madeAnew, err := s.openVersion()
	if err == nil {
		err = s.compactAtStart()
	}
	if err != nil {
		return databaseError(err)
	}
	s.makeShards()
	after, err := s.loadCatalogue()
	if err != nil {
		return databaseError(err)
	}
	for _, sh := range s.appender.shards {
		s.appender.running.Go(func() { sh.run(s) })
	}
	if s.options.Follow != nil {
		return s.openFollower(after, begun)
	}
	return s.openLeader(after, begun, madeAnew)
}

// openFollower lets the store follow its log. Groups of the database may be at position after.
func (s *Store) openFollower(after wal.Pos, begun time.Time) error {
	s.passed(s.catalogue.pos)
	s.replica.floor = after
	s.log.set(&followedLog{s})
	s.recovery = time.Since(begun)
	s.checkpoints.start()
	s.replica.changing.Lock()
	defer s.replica.changing.Unlock()
	s.replica.follow()
	return nil
}

// openLeader opens the log for writing, and replays what the database does not hold yet.
func (s *Store) openLeader(after wal.Pos, begun time.Time, madeAnew bool) error {
	if err := s.openLog(after); err != nil {
		return logError(err)
	}
	s.failpoint("open-log")
	if last := s.log.get().Last(); madeAnew && last > 0 {
		s.options.Logger.Warn("rondo.bolt was missing; it is made anew from the log, which holds all since the first record", "records", last)
	}
	if err := s.replay(); err != nil {
		return logError(err)
	}
	s.failpoint("open-replayed")
	s.recovery = time.Since(begun)
	if err := s.logSettings(); err != nil {
		return err
	}
	s.checkpoints.start()
	return nil
}

// makeShards makes a shard for each processor.
func (s *Store) makeShards() {
	for i := range min(runtime.GOMAXPROCS(0), maxShards) {
		s.appender.shards = append(s.appender.shards, &shard{id: i, work: make(chan *delivery, shardQueue)})
	}
}
