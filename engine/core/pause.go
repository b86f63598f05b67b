package core

import "time"

// pause keeps all others from logging until resume, without holding a lock meanwhile.
func (s *Store) pause() {
	s.lockLog()
	s.paused = make(chan struct{})
	s.logMu.Unlock()
}

func (s *Store) resume() {
	s.logMu.Lock()
	close(s.paused)
	s.paused = nil
	s.logMu.Unlock()
}

// settled waits, after pause, until what is logged for the group of ref has been applied, or has failed.
func (s *Store) settled(ref Ref) {
	c := s.class(ref.class())
	if c == nil {
		return
	}
	for g := c.group(ref.number()); g != nil && g.inflight.Load() > 0; {
		time.Sleep(20 * time.Microsecond)
	}
}
