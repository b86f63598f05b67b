package mono

import (
	"sync"
	"time"
)

// An empty sample of eleven bytes makes the receiver store the last values of all counters of an
// agent, up to 4096. To bound this work, only a limited number of values is carried forward for the
// agents of one address. Values that are sent are not counted, because they take 8 bytes each.
const (
	carriedRate  = 1 << 18 // values a second, unless --mono-carried says otherwise
	carriedBurst = 4       // seconds of them at once
)

// A pace limits how many values are carried forward. It is a token bucket for each address.
type pace struct {
	rate float64 // values a second

	mu    sync.Mutex // guards what follows
	hosts map[string]*carried
}

// A carried is the token bucket of one address.
type carried struct {
	agents int       // agents that are connected
	left   float64   // values that may be carried forward
	at     time.Time // the time that left is of
}

// enter notes that an agent of host has connected. Call leave when it has gone.
func (p *pace) enter(host string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hosts == nil {
		p.hosts = make(map[string]*carried)
	}
	c := p.hosts[host]
	if c == nil {
		c = &carried{left: carriedBurst * p.rate, at: now}
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

// allow reports whether n values may be carried forward now, and counts them if so.
func (p *pace) allow(host string, n int, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.hosts[host]
	if c == nil {
		return true
	}
	if d := now.Sub(c.at); d > 0 {
		c.left = min(c.left+d.Seconds()*p.rate, carriedBurst*p.rate)
		c.at = now
	}
	if c.left < float64(n) {
		return false
	}
	c.left -= float64(n)
	return true
}
