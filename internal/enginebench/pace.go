package enginebench

import (
	"math"
	"slices"
	"sync"
)

// maxAhead is how many readings an appender may be ahead of the slowest. Hosts read by the same
// clock, so no store meets a load in which some senders are hours ahead of others.
const maxAhead = 6

// A pace keeps the appenders together.
type pace struct {
	mu      sync.Mutex
	moved   sync.Cond
	next    []int // number of the next reading, by appender
	slowest int   // the least of next
}

func newPace(appenders, first int) *pace {
	p := &pace{next: slices.Repeat([]int{first}, appenders), slowest: first}
	p.moved.L = &p.mu
	return p
}

// reached notes that an appender goes on to reading next, and reports whether that is too far
// ahead.
func (p *pace) reached(appender, next int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next[appender] = next
	if s := slices.Min(p.next); s != p.slowest {
		p.slowest = s
		p.moved.Broadcast()
	}
	return next-maxAhead > p.slowest
}

// wait returns when reading next is not too far ahead.
func (p *pace) wait(next int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for next-maxAhead > p.slowest {
		p.moved.Wait()
	}
}

// leave lets the others go on without an appender.
func (p *pace) leave(appender int) { p.reached(appender, math.MaxInt) }
