package smon

import "sync"

// What streams may hold in memory: names, texts, references. One of them may hold some 32 MiB.
const (
	maxHeld     = 256 << 20 // all together
	maxHostHeld = 64 << 20  // those of one address
)

// A ledger counts what streams hold.
type ledger struct {
	most, hostMost int

	mu    sync.Mutex // guards what follows
	all   int
	hosts map[string]int
}

// add counts n bytes more of an address, and reports whether that is not too much.
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
