package receivers

import (
	"sync"
	"time"
)

// logSources bounds the sources a LogLimit tells apart.
const logSources = 4096

// A LogLimit lets one line a source and minute into the log. The zero value is ready.
// Beyond 4096 sources in a minute there are no lines.
type LogLimit[K comparable] struct {
	mu      sync.Mutex // guards what follows
	sources map[K]logSource
	purged  time.Time // when old sources were last looked for
}

type logSource struct {
	last time.Time
	held uint64 // lines held back since
}

// Allow reports whether a line about source may be written at now, and if so how many
// were held back since the last.
func (l *LogLimit[K]) Allow(source K, now time.Time) (ok bool, held uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, known := l.sources[source]
	if known && now.Sub(s.last) < time.Minute {
		s.held++
		l.sources[source] = s
		return false, 0
	}
	if !known && len(l.sources) >= logSources {
		if now.Sub(l.purged) < time.Second {
			return false, 0 // a flood of sources must not be one of searches
		}
		l.purged = now
		for k, s := range l.sources {
			if now.Sub(s.last) >= time.Minute {
				delete(l.sources, k)
			}
		}
		if len(l.sources) >= logSources {
			return false, 0
		}
	}
	if l.sources == nil {
		l.sources = make(map[K]logSource)
	}
	l.sources[source] = logSource{last: now}
	return true, s.held
}
