package prom

import "github.com/rondo-db/rondo/engine/core"

// Listings are lists of names and values of labels that were asked for, sorted. They are kept until
// the catalogue changes: dashboards ask for the same ones again and again, and to find one takes a
// look at every value there is.
type listings struct {
	kept  map[string][]string
	bytes int64
	age   int // how often all were forgotten
	share *core.MemoryShare
}

// listedBytes is what the listings of a storage may take together.
const listedBytes = 32 << 20

func (l *listings) forget() {
	l.age++
	if len(l.kept) > 0 {
		l.kept, l.bytes = nil, 0
		_ = l.share.Resize(0) // less memory is always there
	}
}

// keep keeps a listing that was begun at an age, if nothing has changed since and there is memory.
func (l *listings) keep(age int, key string, list []string) {
	if _, twice := l.kept[key]; twice || l.age != age {
		return
	}
	n := int64(len(key)) + 64
	for _, s := range list {
		n += int64(len(s)) + 16
	}
	if n > listedBytes {
		return
	}
	if l.bytes+n > listedBytes {
		l.forget()
	}
	if l.share.Resize(l.bytes+n) != nil {
		return
	}
	if l.kept == nil {
		l.kept = make(map[string][]string)
	}
	l.kept[key] = list
	l.bytes += n
}
