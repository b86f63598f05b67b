package sink

import (
	"sync"
	"time"
)

// maxSenders is how many senders have an allowance of their own. Senders beyond it share one.
const maxSenders = 65536

// allowances bound how many new series each sender may make. Each allowance is a token bucket that
// holds burst series and refills at rate.
type allowances struct {
	burst float64 // series that a sender may make at once; negative: no limit
	rate  float64 // series by which an allowance grows each minute
	now   func() time.Time

	mu       sync.Mutex // guards what follows
	bySender map[string]*allowance
	purged   time.Time // when full allowances were last removed from bySender
}

// An allowance is how many series one sender may still make.
type allowance struct {
	left float64
	at   time.Time // the time that left is of
}

// spend takes one new series from the allowance of a sender, and reports whether one was left.
func (a *allowances) spend(sender string) bool {
	if a.burst < 0 {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.of(sender, a.now())
	if x.left < 1 {
		return false
	}
	x.left--
	return true
}

// giveBack returns series that were spent but not made to the allowances of their senders.
func (a *allowances) giveBack(unused map[string]int) {
	if a.burst < 0 || len(unused) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	for sender, n := range unused {
		if n > 0 {
			x := a.of(sender, now)
			x.left = min(x.left+float64(n), a.burst)
		}
	}
}

// of returns the allowance of a sender at now. a.mu is held.
func (a *allowances) of(sender string, now time.Time) *allowance {
	x := a.bySender[sender]
	if x == nil && len(a.bySender) >= maxSenders && now.Sub(a.purged) >= time.Second {
		a.purged = now
		for k, x := range a.bySender {
			if a.refill(x, now); x.left >= a.burst {
				delete(a.bySender, k) // a sender never seen has a full allowance
			}
		}
	}
	if x == nil && len(a.bySender) >= maxSenders {
		sender = ""
		x = a.bySender[sender]
	}
	if x == nil {
		x = &allowance{left: a.burst, at: now}
		a.bySender[sender] = x
	}
	a.refill(x, now)
	return x
}

func (a *allowances) refill(x *allowance, now time.Time) {
	if dt := now.Sub(x.at); dt > 0 {
		x.left = min(x.left+dt.Minutes()*a.rate, a.burst)
		x.at = now
	}
}

// senders returns how many senders have an allowance of their own.
func (a *allowances) senders() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.bySender)
}
