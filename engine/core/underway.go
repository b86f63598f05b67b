package core

import (
	"sync"
	"time"
)

// underway counts, by look-up key, the changes of names, labels and metadata that are in the log's queue and not yet
// applied. Who holds logMu and finds none for a key knows that what is kept of it is what the log says so far.
type underway struct {
	mu   sync.Mutex // guards keys
	keys map[string]int
}

// add counts a change of each of keys.
func (u *underway) add(keys []string) {
	if len(keys) == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.keys == nil {
		u.keys = make(map[string]int)
	}
	for _, k := range keys {
		u.keys[k]++
	}
}

// done takes back what add counted, once the change was applied or has failed.
func (u *underway) done(keys []string) {
	if len(keys) == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, k := range keys {
		if u.keys[k]--; u.keys[k] == 0 {
			delete(u.keys, k)
		}
	}
}

// any reports whether a change of one of keys is underway.
func (u *underway) any(keys ...string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, k := range keys {
		if u.keys[k] > 0 {
			return true
		}
	}
	return false
}

// await waits, after pause, until no change of keys is underway.
func (u *underway) await(keys ...string) {
	for u.any(keys...) {
		time.Sleep(20 * time.Microsecond)
	}
}
