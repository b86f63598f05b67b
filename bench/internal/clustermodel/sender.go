package clustermodel

// A sender is a goroutine that sends batches.
type sender struct {
	c      *cluster
	number int
	free   int // batches that may be sent
	waits  bool
	sent   int64   // batches
	late   float64 // by which part of the time between two batches it begins later than others
}

// A batch is on its way.
type batch struct {
	sender  *sender
	due     float64
	missing int // parts that are not stored
}

// next sends a batch, as soon as it is due and one is free.
func (s *sender) next() {
	c := s.c
	if c.stopped {
		return
	}
	due := c.clock.now
	if c.Rate > 0 {
		due = (float64(s.sent) + s.late) * float64(c.Batch*c.Senders) / c.Rate
		if due > c.clock.now {
			c.clock.at(due, s.next)
			return
		}
	}
	if s.free == 0 {
		s.waits = true
		return
	}
	s.free--
	s.sent++
	t := &c.times
	work := t.senderBatch + t.senderSample*float64(c.Batch) + t.senderPart*float64(c.parts)
	if c.InNodes {
		work += t.receiveSample * float64(c.Batch)
	}
	c.job(c.drivers[s.number%len(c.drivers)], work, func() {
		if c.Rate == 0 {
			due = c.clock.now
		}
		s.split(&batch{sender: s, due: due, missing: c.parts})
		s.next()
	})
}

// split gives each partition its part.
func (s *sender) split(b *batch) {
	c := s.c
	c.count.sent += int64(c.Batch)
	first := c.rand.IntN(c.Partitions)
	for i := range c.parts {
		l := c.logs[(first+i)%c.Partitions]
		samples := c.Batch*(i+1)/c.parts - c.Batch*i/c.parts
		l.leader.intakes[s.number%len(c.drivers)].add(&part{b, l, samples})
	}
}

// back says that a batch is acknowledged.
func (s *sender) back(b *batch) {
	c := s.c
	c.count.acked += int64(c.Batch)
	if c.measures() {
		c.acks = append(c.acks, c.clock.now-b.due)
		c.count.measured += int64(c.Batch)
	}
	s.free++
	if s.waits {
		s.waits = false
		s.next()
	}
}
