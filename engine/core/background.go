package core

import (
	"context"
	"time"
)

// start starts the goroutine that writes checkpoints by the clock and when one is due.
func (cp *checkpointer) start() {
	if cp.options.ReadOnly || cp.options.NoBackground {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	cp.stop = cancel
	cp.background.Go(func() {
		tick := time.NewTicker(cp.options.CheckpointInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			case <-cp.admission.due:
			}
			if err := cp.run(ctx); err != nil && ctx.Err() == nil {
				cp.options.Logger.Error("checkpoint failed; it is tried again", "err", err)
				select { // not at once: a full disk stays full for a while
				case <-ctx.Done():
				case <-time.After(time.Second):
					cp.admission.wake()
				}
			}
		}
	})
}

// end ends the background goroutine and waits for it.
func (cp *checkpointer) end() {
	if cp.stop != nil {
		cp.stop()
		cp.background.Wait()
	}
}
