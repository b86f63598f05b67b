package core

import "context"

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

// relieve ends a checkpoint for the writers: it unloads idle groups if memory is short, and lets
// waiting writers look again.
func (s *Store) relieve() {
	if s.space.Used() > s.options.Memory/2 {
		s.unloadIdle()
	}
	s.admission.relieve()
}

// unloadIdle unloads the groups that have not been used since the last checkpoint.
func (s *Store) unloadIdle() {
	for _, c := range *s.catalogue.classes.Load() {
		for _, g := range *c.groups.Load() {
			s.appender.mu.Lock() // it guards the coding context
			g.unloadIdle()
			s.appender.mu.Unlock()
		}
	}
}
