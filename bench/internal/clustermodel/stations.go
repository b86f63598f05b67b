package clustermodel

// A cores is the processors of a machine. Threads that have work wait for a core in one queue. A
// thread that has had a core for a slice gives it to the next one that waits.
type cores struct {
	clock *clock
	count float64
	slice float64

	running int
	ready   []*thread
	busy    float64 // cores times seconds
}

// speed is how fast a core works: less than 1 if the machine has a part of a core.
func (c *cores) speed() float64 { return min(c.count, 1) }

// A process has as many threads as its machine has cores. Jobs for which it has no thread wait in
// the order in which they came.
type process struct {
	machine *cores
	usage   *float64 // seconds of processor time
	awake   int      // threads
	waiting []job
}

// A thread of a process does one job after the other.
type thread struct {
	of   *process
	job  job
	left float64 // of the slice
}

type job struct {
	work float64
	done func()
}

// run does some seconds of work, and then calls done.
func (p *process) run(work float64, done func()) {
	m := p.machine
	if p.awake >= max(int(m.count), 1) {
		p.waiting = append(p.waiting, job{work, done})
		return
	}
	p.awake++
	m.ready = append(m.ready, &thread{of: p, job: job{work, done}})
	m.next()
}

// next gives free cores to threads that wait.
func (c *cores) next() {
	for c.running < max(int(c.count), 1) && len(c.ready) > 0 {
		t := c.ready[0]
		c.ready = c.ready[1:]
		c.running++
		t.left = c.slice
		c.goOn(t)
	}
}

// goOn lets a thread use its core until its job or its slice ends.
func (c *cores) goOn(t *thread) {
	took := min(t.job.work, t.left)
	c.clock.after(took/c.speed(), func() {
		c.busy += took
		t.left -= took
		if t.job.work -= took; t.job.work > 0 {
			c.running--
			c.ready = append(c.ready, t)
			c.next()
			return
		}
		done := t.job.done
		p := t.of
		switch {
		case len(p.waiting) == 0:
			p.awake--
			c.running--
			c.next()
		case t.left <= 0:
			t.job, p.waiting = p.waiting[0], p.waiting[1:]
			c.running--
			c.ready = append(c.ready, t)
			c.next()
		default:
			t.job, p.waiting = p.waiting[0], p.waiting[1:]
			c.goOn(t)
		}
		done()
	})
}

// A disk does one thing after the other.
type disk struct {
	clock *clock
	free  float64 // when it has done all that it was given
	given float64 // seconds of work
}

// busy is for how long it has worked until now.
func (d *disk) busy() float64 { return d.given - max(d.free-d.clock.now, 0) }

// run keeps the disk busy for some seconds, and then calls done.
func (d *disk) run(work float64, done func()) {
	d.free = max(d.free, d.clock.now) + work
	d.given += work
	d.clock.at(d.free, done)
}

// A loop is a goroutine that takes what waits, up to most things at a time, works on it, and takes
// what has come meanwhile.
type loop[T any] struct {
	most    int
	work    func(all []T, done func())
	waiting []T
	running bool
}

func (l *loop[T]) add(x T) {
	l.waiting = append(l.waiting, x)
	if !l.running {
		l.running = true
		l.next()
	}
}

func (l *loop[T]) next() {
	n := min(len(l.waiting), l.most)
	if n == 0 {
		l.running = false
		return
	}
	all := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	l.work(all, l.next)
}
