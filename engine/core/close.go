package core

import (
	"context"
	"errors"
	"syscall"
)

// Close leaves at most closeBytes of records for the next Open to replay, and at most closeLog
// bytes of log for it to read, part of which the database may hold already.
const (
	closeBytes = 256 << 10
	closeLog   = 1 << 20
)

// Close waits for the calls under way, writes a checkpoint if the log is long, and releases the
// folder. Batches on their way are acknowledged first; Close does not wait until somebody calls
// Wait on their tickets. A disk without space for the checkpoint is not an error: the log keeps
// everything.
func (s *Store) Close() error {
	if err := s.calls.close(); err != nil {
		return err
	}
	s.replica.close()
	s.checkpoints.end()
	var err error
	if !s.options.ReadOnly && (s.admission.logged.Load()+s.checkpoints.replayed.Load() > closeBytes || s.logStats().Bytes > closeLog) {
		// One shard may have acknowledged what others have not passed over yet.
		s.appender.drain()
		err = s.checkpoints.run(context.Background())
	}
	err = s.unlessFull(err)
	if !s.options.ReadOnly {
		err = errors.Join(err, s.sealLog())
	}
	return errors.Join(err, s.abandon())
}

// unlessFull returns err, the error of the last write into the database, or nil if the disk has no
// space: everything that was acknowledged is in the log, where the next Open finds it.
func (s *Store) unlessFull(err error) error {
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	s.options.Logger.Warn("the disk is full: the log keeps what the database has no space for", "err", err)
	return nil
}

// abandon releases everything without writing.
func (s *Store) abandon() error {
	s.replica.close()
	var errs []error
	if l := s.log.get(); l != nil {
		errs = append(errs, l.Close())
	}
	for _, sh := range s.appender.shards {
		close(sh.work)
	}
	s.appender.running.Wait()
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	s.space.Close()
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}
