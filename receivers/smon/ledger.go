package smon

import "sync"

// How many bytes of memory streams may take: for names, texts and references. One stream may take
// about 32 MiB.
const (
	maxHeld     = 256 << 20 // all streams together
	maxHostHeld = 64 << 20  // the streams of one address
)

// A ledger counts how much memory streams take.
type ledger struct {
	most, hostMost int

	mu    sync.Mutex // guards what follows
	all   int
	hosts map[string]int
}

// add counts n more bytes of an address, and reports whether that is within the limits.
func (l *ledger) add(host string, n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hosts == nil {
		l.hosts = make(map[string]int)
	}
	l.all += n
	of := l.hosts[host] + n
	if of == 0 {
		delete(l.hosts, host)
	} else {
		l.hosts[host] = of
	}
	return n <= 0 || l.all <= l.most && of <= l.hostMost
}
