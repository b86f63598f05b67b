package mono

import (
	"sync"
	"time"
)

// What did not change costs an agent nothing to send: in the eleven bytes of a sample that is empty
// it has all its counters stored, 4096 at most. So there is a limit of how many values are carried
// forward for the agents of one address. What they send themselves is not counted: that takes 8
// bytes a value.
const (
	carriedRate  = 1 << 18         // values a second
	carriedBurst = 4 * carriedRate // values at once
)

// A pace limits what is carried forward.
type pace struct {
	mu    sync.Mutex // guards what follows
	hosts map[string]*carried
}

// A carried is what may be carried forward for one address.
type carried struct {
	agents int
	left   float64
	at     time.Time
}

// enter makes room for an agent; it leaves.
func (p *pace) enter(host string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hosts == nil {
		p.hosts = make(map[string]*carried)
	}
	c := p.hosts[host]
	if c == nil {
		c = &carried{left: carriedBurst, at: now}
		p.hosts[host] = c
	}
	c.agents++
}

func (p *pace) leave(host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.hosts[host]; c != nil {
		if c.agents--; c.agents == 0 {
			delete(p.hosts, host)
		}
	}
}

// take reports whether n values may be carried forward now.
func (p *pace) take(host string, n int, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.hosts[host]
	if c == nil {
		return true
	}
	if d := now.Sub(c.at); d > 0 {
		c.left = min(c.left+d.Seconds()*carriedRate, carriedBurst)
		c.at = now
	}
	if c.left < float64(n) {
		return false
	}
	c.left -= float64(n)
	return true
}
