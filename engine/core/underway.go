package core

import "sync"

// An underway counts, by look-up key, the changes of names, labels and metadata that are on their
// way: enqueued and not yet applied. While a key has no change on its way and the appender's mu is
// held, the catalogue says of that key what the log says so far.
type underway struct {
	mu   sync.Mutex // guards keys; taken last and alone
	keys map[string]int
}

// add counts a change of each key.
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

// any reports whether a change of one of the keys is on its way.
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
