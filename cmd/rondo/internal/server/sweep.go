package server

import (
	"context"
	"time"

	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/receivers/sink"
)

// How often the server looks for silent series. The pauses are so long that at most a fiftieth of
// the time is spent on it.
const (
	sweepPause = 10 * time.Second
	sweepShare = 50
)

// sweep expires paths that have been silent for too long, until ctx ends.
func (s *server) sweep(ctx context.Context) {
	w := sink.NewSweeper(s.store, nil)
	pause := sweepPause
	for sleep.For(ctx, pause) == nil {
		began := time.Now()
		done, err := w.Sweep(ctx, s.receivers.sink.Policy(), pause)
		pause = max(sweepPause, sweepShare*time.Since(began))
		s.figures.Expired.Add(uint64(done.Expired))
		s.figures.Dropped.Add(uint64(done.Dropped))
		if done.Expired+done.Dropped > 0 {
			s.Logger.Info("silent for too long", "metadata_forgotten", done.Expired, "series_dropped", done.Dropped)
		}
		if err != nil && ctx.Err() == nil {
			s.Logger.Error("silent series not expired", "err", err)
		}
	}
}
