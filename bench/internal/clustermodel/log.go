package clustermodel

// A log is a partition's log: a stream on three servers, which the leader writes and applies, and
// followers read.
type log struct {
	c         *cluster
	leader    *node
	lane      *loop[*part]
	servers   []int // leader first; numbers
	pending   []*block
	sending   bool    // a message is under way
	timer     int     // of the pause that is the newest
	announced float64 // when followers were woken last
	began     float64 // when the newest message was sent
	writing   float64 // seconds in which a message was under way, before that one
	apply     *loop[*block]
	followers []*follower
}

// A block is records that are sent in one message.
type block struct {
	parts   []*part
	samples int
	raw     float64 // bytes
	since   float64
	acked   float64 // when the servers had it
}

func newLog(c *cluster, number int) *log {
	l := &log{c: c, leader: c.nodes[number%c.Nodes], announced: -1}
	for i := range copies {
		l.servers = append(l.servers, (number+i)%c.Servers)
	}
	l.lane = &loop[*part]{most: 1, work: l.laneWork}
	l.apply = &loop[*block]{most: 1, work: l.applyWork}
	for i := range c.Replicas - 1 {
		// Leaders are spread evenly, and so are the followers of the partitions of one leader.
		away := 1 + (number/c.Nodes+i)%(c.Nodes-1)
		f := &follower{log: l, node: c.nodes[(number+away)%c.Nodes]}
		l.followers = append(l.followers, f)
		f.sleep()
	}
	return l
}

// enqueue gives a part to the block that is open, or opens one.
func (l *log) enqueue(p *part) {
	c := l.c
	raw := c.times.rawSample * float64(p.samples)
	n := len(l.pending)
	if n == 0 || (n == 1 && l.sending) || l.pending[n-1].raw+raw > blockBytes {
		l.pending = append(l.pending, &block{since: c.clock.now})
		n++
	}
	b := l.pending[n-1]
	b.parts, b.samples, b.raw = append(b.parts, p), b.samples+p.samples, b.raw+raw
	l.look()
}

// look sends the oldest block, if it is time.
func (l *log) look() {
	if l.sending || len(l.pending) == 0 {
		return
	}
	c := l.c
	b := l.pending[0]
	if len(l.pending) == 1 && b.raw < batchBytes {
		if left := b.since + linger(c.Partitions) - c.clock.now; left > 1e-9 {
			l.timer++
			timer := l.timer
			c.clock.after(left, func() {
				if timer == l.timer {
					l.look()
				}
			})
			return
		}
	}
	l.timer++
	l.sending = true
	l.send(b)
}

// send stores a block: two of the three servers must have it on their disks, and the leader of the
// stream is one of them.
func (l *log) send(b *block) {
	c, t := l.c, &l.c.times
	l.began = c.clock.now
	bytes := t.logSample*float64(b.samples) + t.logMessageBytes
	if c.measures() {
		c.count.messages++
		c.count.logged += int64(b.samples)
		c.bytes += bytes
	}
	// The leader reads and answers for the others, too: it has half of the work.
	work := t.serverMessage + t.serverByte*bytes
	have := 0
	stored := func() {
		if have++; have == 2 {
			c.store(l.servers[0], work/4, t.syncs/2, func() {
				c.clock.after(t.network, func() {
					l.writing += c.clock.now - l.began
					l.stored(b)
				})
			})
		}
	}
	c.job(l.leader.process, t.logMessage, func() {
		c.clock.after(t.network, func() {
			c.store(l.servers[0], work/4, t.syncs/2, stored)
			for _, s := range l.servers[1:] {
				c.clock.after(t.network, func() {
					c.store(s, work/4, t.syncs, func() { c.clock.after(t.network, stored) })
				})
			}
		})
	})
}

// store is what a server does: work, and syncs of its disk.
func (c *cluster) store(server int, work, syncs float64, done func()) {
	took := c.times.sync * syncs
	if c.rand.Float64() < c.times.stallShare*syncs {
		took += c.times.stall * 2 * c.rand.Float64()
	}
	c.job(c.servers[server], work, func() { c.disks[server%c.Machine].run(took, done) })
}

// stored reports that the servers have a block.
func (l *log) stored(b *block) {
	c := l.c
	b.acked = c.clock.now
	l.pending, l.sending = l.pending[1:], false
	l.apply.add(b)
	tell := c.clock.now-l.announced >= busyWait
	if tell {
		l.announced = c.clock.now
	}
	for _, f := range l.followers {
		f.behind = append(f.behind, b)
		if tell {
			f.wake()
		}
	}
	l.look()
}

// applyWork applies a block in the leader, and answers.
func (l *log) applyWork(all []*block, done func()) {
	b, c := all[0], l.c
	c.applyBlocks(l.leader, all, 0, func() {
		c.count.led += int64(b.samples)
		for _, p := range b.parts {
			c.answered(p)
		}
		done()
	})
}

// applyBlocks applies blocks: each shard of the node has a part of the samples. With more there is
// other work, of one goroutine.
func (c *cluster) applyBlocks(n *node, all []*block, more float64, done func()) {
	sample := c.times.applySample
	if c.Large {
		sample += c.times.largeSample
	}
	var work float64
	for _, b := range all {
		work += c.times.applyRecord*float64(len(b.parts)) + sample*float64(b.samples)
	}
	shards := min(max(int(c.Cores), 1), maxShards)
	left := shards
	apply := func() {
		for range shards {
			c.job(n.process, work/float64(shards), func() {
				if left--; left == 0 {
					done()
				}
			})
		}
	}
	if more == 0 {
		apply()
		return
	}
	c.job(n.process, more, apply)
}
