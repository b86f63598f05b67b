package clustermodel

// A follower is a replica that reads the log. While there is something new it reads; then it pauses
// until it is woken, or for longer and longer.
type follower struct {
	log    *log
	node   *node
	behind []*block
	busy   bool
	pause  float64
	timer  int
}

// sleep waits for news, for a while.
func (f *follower) sleep() {
	f.busy = false
	f.pause = min(max(2*f.pause, busyWait), idleWait)
	f.timer++
	timer := f.timer
	f.log.c.clock.after(f.pause, func() {
		if timer == f.timer {
			f.read()
		}
	})
}

// wake says that there is something new.
func (f *follower) wake() {
	if !f.busy {
		f.pause = 0
		f.read()
	}
}

// read asks a server for what is new, and applies it.
func (f *follower) read() {
	c := f.log.c
	if c.stopped && len(f.behind) == 0 && c.count.led == c.count.sent {
		return
	}
	f.busy = true
	f.timer++
	t := &c.times
	c.job(c.servers[f.log.servers[c.rand.IntN(copies)]], t.serverRead, func() {
		all := f.behind
		f.behind = nil
		if len(all) == 0 {
			c.clock.after(t.network, f.sleep)
			return
		}
		c.clock.after(t.network, func() { f.apply(all) })
	})
}

func (f *follower) apply(all []*block) {
	c := f.log.c
	c.applyBlocks(f.node, all, c.times.followRound, func() {
		for _, b := range all {
			c.count.followed += int64(b.samples)
			if b.acked >= c.from && c.measures() {
				c.lags = append(c.lags, c.clock.now-b.acked)
			}
		}
		f.pause = 0
		f.read()
	})
}
