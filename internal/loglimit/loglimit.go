// Package loglimit keeps a log readable while something goes wrong again and again. A [Limit] lets
// one line of each source through in a minute, and says how many lines it has held back.
package loglimit

import (
	"sync"
	"time"
)

// maxSources is how many sources a Limit distinguishes.
const maxSources = 4096

// A Limit lets one line of each source into the log in a minute. Beyond 4096 sources in a minute,
// new sources get no line. The zero value is ready, and Allow may be called concurrently.
type Limit[K comparable] struct {
	mu      sync.Mutex // guards what follows
	sources map[K]source
	purged  time.Time // when old sources were last removed
}

type source struct {
	last time.Time
	held uint64 // lines held back since
}

// Allow reports whether a line about key may be written at now, and if so how many lines about key
// were held back since the last one.
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
			return false, 0 // search once a second at most, however many new sources come
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

// Log logs a line about key at now by log, unless Allow holds it back. The line says how many were
// held back. To be called in vain costs more than Allow does: it is not for each packet.
func (l *Limit[K]) Log(log func(text string, args ...any), key K, now time.Time, text string, args ...any) {
	if ok, held := l.Allow(key, now); ok {
		log(text, append(args, "held_back_lines", held)...)
	}
}
