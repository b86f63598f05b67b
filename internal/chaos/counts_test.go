package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// counts are the figures of a run. The methods may be called concurrently.
type counts struct {
	mu       sync.Mutex // guards what follows
	faults   map[string]int
	batches  int // acknowledged
	samples  int // of acknowledged batches
	refused  int // attempts that were asked to try again
	failed   int // attempts without an answer: a connection ended, or nothing came in time
	late     int // samples that were refused as late when they were repeated: they had been stored
	took     []time.Duration
	gaps     []time.Duration // between two acknowledgements of a sender, if longer than gapFrom
	problems []string        // what must not be
	notes    map[string]int  // what may be, and is worth knowing
}

// gapFrom is the time without an acknowledgement that counts as a gap.
const gapFrom = time.Second

func (c *counts) fault(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.faults == nil {
		c.faults = make(map[string]int)
	}
	c.faults[kind]++
}

// acknowledged counts a batch that took so long from its first attempt on.
func (c *counts) acknowledged(samples int, took, sinceLast time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.batches++
	c.samples += samples
	if len(c.took) < 1<<20 {
		c.took = append(c.took, took)
	} else {
		c.took[c.batches%len(c.took)] = took
	}
	if sinceLast > gapFrom {
		c.gaps = append(c.gaps, sinceLast)
	}
}

func (c *counts) unanswered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed++
}

func (c *counts) toldToTryAgain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused++
}

func (c *counts) wasLate(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.late += n
}

// wrong notes what must not be. Of many the first are kept.
func (c *counts) wrong(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.problems) < 50 && !slices.Contains(c.problems, what) {
		c.problems = append(c.problems, what)
	}
}

func (c *counts) note(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.notes == nil {
		c.notes = make(map[string]int)
	}
	c.notes[what]++
}

func (c *counts) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	n := 0
	for _, k := range slices.Sorted(maps.Keys(c.faults)) {
		n += c.faults[k]
		fmt.Fprintf(&b, "  %d × %s\n", c.faults[k], k)
	}
	fmt.Fprintf(&b, "  %d faults; %d batches with %d samples acknowledged; %d attempts told to try again, %d without an answer; %d samples were stored by an attempt before\n",
		n, c.batches, c.samples, c.refused, c.failed, c.late)
	fmt.Fprintf(&b, "  a batch took %s; %d gaps over a second in a sender's acknowledgements: %s\n", spread(c.took), len(c.gaps), spread(c.gaps))
	for _, k := range slices.Sorted(maps.Keys(c.notes)) {
		fmt.Fprintf(&b, "  note: %d × %s\n", c.notes[k], k)
	}
	return b.String()
}

// spread returns the median, the 99th percentile and the maximum.
func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	s := slices.Sorted(slices.Values(all))
	at := func(q float64) time.Duration { return s[int(q*float64(len(s)-1))].Round(time.Millisecond / 10) }
	return fmt.Sprintf("p50 %v, p99 %v, max %v", at(0.5), at(0.99), at(1))
}
