// Package loglimit keeps a log readable while something goes wrong again and again: a [Limit] lets
// one line a source and minute through, and says how many it has held back.
package loglimit

import (
	"sync"
	"time"
)

// maxSources is how many sources a Limit tells apart.
const maxSources = 4096

// A Limit lets one line a source and minute into the log. The zero value is ready; its methods may
// be called concurrently. Beyond 4096 sources in a minute, new sources get no line.
type Limit[K comparable] struct {
	mu      sync.Mutex // guards what follows
	sources map[K]source
	purged  time.Time // when old sources were last looked for
}

type source struct {
	last time.Time
	held uint64 // lines held back since
}

// Allow reports whether a line about key may be written at now, and if so how many were held back
// since the last one.
func (l *Limit[K]) Allow(key K, now time.Time) (ok bool, held uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, known := l.sources[key]
	if known && now.Sub(s.last) < time.Minute {
		s.held++
		l.sources[key] = s
		return false, 0
	}
	if !known && len(l.sources) >= maxSources {
		if now.Sub(l.purged) < time.Second {
			return false, 0 // a flood of sources must not be one of searches
		}
		l.purged = now
		for k, s := range l.sources {
			if now.Sub(s.last) >= time.Minute {
				delete(l.sources, k)
			}
		}
		if len(l.sources) >= maxSources {
			return false, 0
		}
	}
	if l.sources == nil {
		l.sources = make(map[K]source)
	}
	l.sources[key] = source{last: now}
	return true, s.held
}
