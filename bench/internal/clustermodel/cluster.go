package clustermodel

import "math/rand/v2"

// What a log does, as package wal/stream has it.
const (
	batchBytes = 64 << 10  // are sent without waiting for more
	blockBytes = 512 << 10 // are sent at once at most
	busyWait   = 0.010     // a follower's first pause, and the least time between two announcements
	idleWait   = 0.250     // its longest pause
	copies     = 3         // servers of a log
	maxShards  = 64        // goroutines of a node that apply
)

// linger is how long less than batchBytes waits for more, with a number of partitions.
func linger(partitions int) float64 { return min(max(float64(partitions)/400, 0.005), 0.020) }

// A cluster is simulated.
type cluster struct {
	Config
	clock clock
	times set
	rand  *rand.Rand
	parts int // of a batch

	machines []*cores
	disks    []*disk
	servers  []*process
	drivers  []*process // that send
	nodes    []*node
	logs     []*log
	senders  []*sender

	from    float64 // when what is measured begins
	stopped bool    // senders send no more

	usage struct{ nodes, servers, driver float64 } // seconds of processor time
	acks  []float64
	lags  []float64
	count struct{ sent, acked, led, followed, measured, messages, logged int64 }
	bytes float64
}

// A node leads partitions and follows others.
type node struct {
	c       *cluster
	process *process
	intakes []*loop[*part] // by where they come from
}

// A part is what a batch has for a partition.
type part struct {
	batch   *batch
	log     *log
	samples int
}

func newCluster(cfg Config, t Times) *cluster {
	c := &cluster{Config: cfg, times: t.set, rand: rand.New(rand.NewPCG(cfg.Seed, 1))}
	c.from = cfg.Seconds / 4
	c.parts = partsOf(c.Partitions, c.Batch)
	for range c.Machine {
		c.machines = append(c.machines, &cores{clock: &c.clock, count: c.Cores, slice: c.times.slice})
		c.disks = append(c.disks, &disk{clock: &c.clock})
	}
	for i := range c.Nodes {
		n := &node{c: c, process: c.process(i, &c.usage.nodes, c.times.nodeIdle)}
		c.nodes = append(c.nodes, n)
		if c.InNodes {
			c.drivers = append(c.drivers, n.process)
		}
	}
	if !c.InNodes {
		c.drivers = append(c.drivers, c.process(0, &c.usage.driver, 0))
	}
	for _, n := range c.nodes {
		for range c.drivers {
			n.intakes = append(n.intakes, &loop[*part]{most: 1 << 20, work: n.take})
		}
	}
	for i := range c.Servers {
		c.servers = append(c.servers, c.process(i, &c.usage.servers, c.times.serverIdle))
	}
	for i := range c.Partitions {
		c.logs = append(c.logs, newLog(c, i))
	}
	for i := range c.Senders {
		s := &sender{c: c, number: i, free: c.Under / c.Senders}
		if i < c.Under%c.Senders {
			s.free++
		}
		if c.InNodes { // rondo-bench cluster's begin together
			s.late = c.rand.Float64()
		}
		c.senders = append(c.senders, s)
	}
	return c
}

// process returns a process of machine i, and lets it do what it does while nobody sends.
func (c *cluster) process(i int, usage *float64, idle float64) *process {
	p := &process{machine: c.machines[i%c.Machine], usage: usage}
	var again func()
	again = func() {
		if !c.stopped {
			c.job(p, idle*idleEvery, func() {})
			c.clock.after(idleEvery, again)
		}
	}
	if idle > 0 {
		c.clock.after(idleEvery*c.rand.Float64(), again)
	}
	return p
}

// idleEvery is how often a process does what it does while nobody sends.
const idleEvery = 0.02

// job is work of a process. Its length varies by times.spread.
func (c *cluster) job(p *process, work float64, done func()) {
	work *= 1 - c.times.spread + c.times.spread*c.rand.ExpFloat64()
	if c.measures() {
		*p.usage += work
	}
	p.run(work, done)
}

// measures says whether what happens now counts.
func (c *cluster) measures() bool { return c.clock.now >= c.from && !c.stopped }

// take reads what has come on one connection, and gives it to the logs.
func (n *node) take(all []*part, done func()) {
	// A lane of each partition does most of the work: they do not wait for each other.
	c := n.c
	c.clock.after(c.times.network, func() {
		for _, p := range all {
			p.log.lane.add(p)
		}
		done()
	})
}

// laneWork decodes and codes parts of batches, one after the other, and logs them.
func (l *log) laneWork(all []*part, done func()) {
	p := all[0]
	c := l.c
	c.job(l.leader.process, c.times.takePart+c.times.takeSample*float64(p.samples), func() {
		l.enqueue(p)
		done()
	})
}

// answered says that a part of a batch is stored and applied.
func (c *cluster) answered(p *part) {
	b := p.batch
	if b.missing--; b.missing > 0 {
		return
	}
	c.clock.after(c.times.network, func() { b.sender.back(b) })
}
