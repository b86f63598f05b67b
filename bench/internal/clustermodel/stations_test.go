package clustermodel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A queue is a station with one server in which a job can wait.
func meanStay(t *testing.T, load float64, service func(*rand.Rand) float64, station func(*clock) func(float64, func())) float64 {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	c := &clock{}
	run := station(c)
	const jobs = 60_000
	var stayed float64
	left := 0
	var come func(n int)
	come = func(n int) {
		if n == jobs {
			return
		}
		at := c.now
		run(service(r), func() { stayed += c.now - at; left++ })
		c.after(r.ExpFloat64()/load, func() { come(n + 1) })
	}
	come(0)
	c.run(math.Inf(1))
	if left != jobs {
		t.Fatalf("%d jobs came and %d left", jobs, left)
	}
	return stayed / jobs
}

func oneDisk(c *clock) func(float64, func()) { return (&disk{clock: c}).run }

// machine has processes with one thread each, among which jobs are dealt out.
func machine(count, slice float64) func(c *clock) func(float64, func()) {
	return func(c *clock) func(float64, func()) {
		m := &cores{clock: c, count: count, slice: slice}
		return func(work float64, done func()) { (&process{machine: m}).run(work, done) }
	}
}

// TestQueues compares stations with what queueing theory says of them. Work is 1 s on average.
func TestQueues(t *testing.T) {
	random := func(r *rand.Rand) float64 { return r.ExpFloat64() }
	same := func(*rand.Rand) float64 { return 1 }
	for _, x := range []struct {
		name    string
		load    float64 // jobs a second
		service func(*rand.Rand) float64
		station func(*clock) func(float64, func())
		want    float64 // seconds that a job stays
	}{
		{"M/M/1, half", 0.5, random, oneDisk, 1 / (1 - 0.5)},
		{"M/M/1, 0.8", 0.8, random, oneDisk, 1 / (1 - 0.8)},
		{"M/D/1, half", 0.5, same, oneDisk, 1 + 0.5/(2*(1-0.5))},
		{"M/D/1, 0.8", 0.8, same, oneDisk, 1 + 0.8/(2*(1-0.8))},
		// With short slices jobs share the core, and only the mean of the work matters.
		{"M/M/1 shared, 0.8", 0.8, random, machine(1, 0.1), 1 / (1 - 0.8)},
		{"M/D/1 shared, 0.8", 0.8, same, machine(1, 0.1), 1 / (1 - 0.8)},
		// With slices that do not end jobs queue.
		{"M/D/1 in turn, 0.8", 0.8, same, machine(1, 1000), 1 + 0.8/(2*(1-0.8))},
		// M/M/2: 1/(1-ρ²) with ρ the load of a core, shared or not.
		{"M/M/2 shared, 1.6", 1.6, random, machine(2, 0.1), 1 / (1 - 0.8*0.8)},
	} {
		if got := meanStay(t, x.load, x.service, x.station); math.Abs(got/x.want-1) > 0.06 {
			t.Errorf("%s: a job stays %.3f s, want %.3f", x.name, got, x.want)
		}
	}
}

// TestSlices: three threads on two cores; one comes later.
func TestSlices(t *testing.T) {
	c := &clock{}
	m := &cores{clock: c, count: 2, slice: 1}
	ended := map[string]float64{}
	run := func(name string, p *process, work float64) {
		p.run(work, func() { ended[name] = c.now })
	}
	a, b := &process{machine: m}, &process{machine: m}
	run("a", a, 2)
	run("b", b, 4)
	c.at(0.5, func() { run("c", &process{machine: m}, 1) })
	// Process a has two threads at most, so this one waits for the first of them.
	c.at(0.5, func() { run("a2", a, 1); run("a3", a, 0.5) })
	c.run(100)
	// Until 1: a and b. They go behind c and a2. Until 2: c and a2, which goes on with a3 in its
	// next slice. Until 3: a, b. a3 until 3.5, b from 3 on.
	want := map[string]float64{"c": 2, "a2": 2, "a": 3, "a3": 3.5, "b": 5}
	if len(ended) != len(want) {
		t.Fatalf("jobs end at %v, want %v", ended, want)
	}
	for name, at := range want {
		if math.Abs(ended[name]-at) > 1e-9 {
			t.Errorf("job %s ends at %v, want %v", name, ended[name], at)
		}
	}
	if math.Abs(m.busy-8.5) > 1e-9 {
		t.Errorf("the cores were busy for %v s, want 8.5", m.busy)
	}
}

// TestLoop takes all that waits, and no more than it may.
func TestLoop(t *testing.T) {
	c := &clock{}
	var took []int
	l := &loop[int]{most: 3, work: func(all []int, done func()) {
		took = append(took, len(all))
		c.after(1, done)
	}}
	for i := range 5 {
		l.add(i)
	}
	c.run(100)
	if len(took) != 3 || took[0] != 1 || took[1] != 3 || took[2] != 1 || l.running {
		t.Errorf("took %v at a time, want 1, 3, 1", took)
	}
}
