// Package allowance bounds how much each of many senders may have in a time.
package allowance

import (
	"sync"
	"time"
)

// maxSenders is how many senders have an allowance of their own. Senders beyond it share one.
const maxSenders = 65536

// Allowances bound how much each sender may have. Each allowance is a token bucket that holds Burst
// and refills at Rate. The methods may be called concurrently.
type Allowances struct {
	Burst float64 // what a sender may have at once; negative: no limit
	Rate  float64 // by which an allowance grows each second

	mu       sync.Mutex // guards what follows
	bySender map[string]*allowance
	purged   time.Time // when full allowances were last removed from bySender
}

// An allowance is what one sender may still have.
type allowance struct {
	left float64
	at   time.Time // the time that left is of
}

// Spend takes n from the allowance of a sender at now, and reports whether so much was left.
func (a *Allowances) Spend(sender string, n int, now time.Time) bool {
	if a.Burst < 0 {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.of(sender, now)
	if x.left < float64(n) {
		return false
	}
	x.left -= float64(n)
	return true
}

// Has reports whether a sender has one left at now.
func (a *Allowances) Has(sender string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.bySender[sender]
	if x == nil {
		return true // of a new sender it is full
	}
	a.refill(x, now)
	return x.left >= 1
}

// GiveBack returns what was spent and not used to the allowances of senders.
func (a *Allowances) GiveBack(unused map[string]int, now time.Time) {
	if a.Burst < 0 || len(unused) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for sender, n := range unused {
		if n > 0 {
			x := a.of(sender, now)
			x.left = min(x.left+float64(n), a.Burst)
		}
	}
}

// of returns the allowance of a sender at now. a.mu is held.
func (a *Allowances) of(sender string, now time.Time) *allowance {
	x := a.bySender[sender]
	if x == nil && len(a.bySender) >= maxSenders && now.Sub(a.purged) >= time.Second {
		a.purged = now
		for k, x := range a.bySender {
			if a.refill(x, now); x.left >= a.Burst {
				delete(a.bySender, k) // a sender never seen has a full allowance
			}
		}
	}
	if x == nil && len(a.bySender) >= maxSenders {
		sender = ""
		x = a.bySender[sender]
	}
	if x == nil {
		if a.bySender == nil {
			a.bySender = make(map[string]*allowance)
		}
		x = &allowance{left: a.Burst, at: now}
		a.bySender[sender] = x
	}
	a.refill(x, now)
	return x
}

func (a *Allowances) refill(x *allowance, now time.Time) {
	if dt := now.Sub(x.at); dt > 0 {
		x.left = min(x.left+dt.Seconds()*a.Rate, a.Burst)
		x.at = now
	}
}

// Senders returns how many senders have an allowance of their own.
func (a *Allowances) Senders() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.bySender)
}
