package core

import (
	"context"
	"time"
)

// startBackground starts the goroutine that writes checkpoints by the clock and when one is due.
func (s *Store) startBackground() {
	if s.options.ReadOnly || s.options.NoBackground {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.background.Go(func() {
		tick := time.NewTicker(s.options.CheckpointInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			case <-s.admission.due:
			}
			if err := s.checkpoint(ctx); err != nil && ctx.Err() == nil {
				s.options.Logger.Error("checkpoint failed; it is tried again", "err", err)
				select { // not at once: a full disk stays full for a while
				case <-ctx.Done():
				case <-time.After(time.Second):
					s.admission.wake()
				}
			}
		}
	})
}
