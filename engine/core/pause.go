package core

// lock takes mu, so that the caller may enqueue. It waits while somebody else has paused the
// appender. While coding contexts are stale it waits until all that is on its way was applied or
// has failed; then the contexts are as applied.
func (a *appender) lock() {
	for {
		a.lockPaused()
		paused := a.paused
		if paused == nil {
			return
		}
		a.mu.Unlock()
		<-paused
	}
}

// lockPaused is lock for the goroutine that has paused the others.
func (a *appender) lockPaused() {
	a.mu.Lock()
	for a.stale {
		if a.queue.len() == 0 {
			a.drain()
			a.resetContexts()
			return
		}
		a.mu.Unlock() // failed takes it
		a.queue.awaitEmpty()
		a.mu.Lock()
	}
}

// resetContexts makes every coding context follow what is applied when it is next used. The caller
// holds mu, and nothing is on its way to the disk or to a shard.
func (a *appender) resetContexts() {
	a.epoch++
	a.stale = false
}

// pause keeps all others from enqueueing until resume, and waits until all that was enqueued before
// was applied or has failed. No lock is held meanwhile.
func (a *appender) pause() {
	a.lock()
	a.paused = make(chan struct{})
	a.mu.Unlock() // failed takes it
	a.queue.awaitEmpty()
	a.drain()
}

// resume ends pause.
func (a *appender) resume() {
	a.mu.Lock()
	close(a.paused)
	a.paused = nil
	a.mu.Unlock()
}
