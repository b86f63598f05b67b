package health

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

const (
	window = time.Minute     // what rates are taken over
	most   = 16              // states that are kept
	linger = 5 * time.Minute // how long a loss stays a problem after it has stopped
)

// A Severity says how bad a problem is.
type Severity int

// The severities, the worst first.
const (
	Error   Severity = iota // data are being lost, or will be soon
	Warning                 // something does not work as it should
	Info                    // something that a user may want to know
)

// String returns the severity as it stands in the answer of Status.
func (s Severity) String() string { return [...]string{"error", "warning", "info"}[s] }

// A Problem is something wrong.
type Problem struct {
	ID       string // the same while the problem lasts
	Severity Severity
	Text     string // what is wrong
	Advice   string // what to do
	Since    time.Time
}

// A Watch looks at states of one server. It may be used concurrently.
type Watch struct {
	mu     sync.Mutex // guards what follows
	states []State    // the last ones, oldest first
	spells map[string]*spell
}

// A spell is how long a problem has lasted.
type spell struct{ since, last time.Time }

// Observe keeps a state. It is called every few seconds, in the order of time, so that a problem is
// noticed when it begins and not when somebody asks.
func (w *Watch) Observe(s State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look(&s)
	if n := len(w.states); n > 0 && s.Now.Before(w.states[n-1].Now) {
		w.states = w.states[:0] // the clock was set back
	}
	s.Senders = nil // many, and not compared
	w.states = append(w.states, s)
	for len(w.states) > most || len(w.states) > 2 && s.Now.Sub(w.states[1].Now) >= window {
		w.states = slices.Delete(w.states, 0, 1)
	}
}

// Problems returns what is wrong with s, which is the present, the worst first.
func (w *Watch) Problems(s State) []Problem {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.look(&s)
	slices.SortStableFunc(out, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), a.Since.Compare(b.Since))
	})
	return out
}

// Before returns the oldest state of the last minute. Rates are taken from it to the present. ok is
// false if there is none.
func (w *Watch) Before(now time.Time) (s State, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.states {
		if now.Sub(s.Now) <= window+window/4 && now.After(s.Now) {
			return s, true
		}
	}
	return State{}, false
}

// look returns the problems of s. w.mu is held.
func (w *Watch) look(s *State) []Problem {
	if w.spells == nil {
		w.spells = make(map[string]*spell)
	}
	l := look{Watch: w, State: s}
	if n := len(w.states); n > 0 {
		l.was = &w.states[n-1]
	}
	for _, rule := range rules {
		rule(&l)
	}
	for id, x := range w.spells {
		if s.Now.Sub(x.last) > linger || !slices.ContainsFunc(l.found, func(p Problem) bool { return p.ID == id }) {
			delete(w.spells, id)
		}
	}
	return l.found
}

// A look is one look at a state.
type look struct {
	*Watch
	*State
	was   *State // the state before; nil: there was none
	found []Problem
}

// lasts reports a problem that is there now.
func (l *look) lasts(p Problem) {
	x := l.spells[p.ID]
	if x == nil {
		x = &spell{since: l.Now}
		l.spells[p.ID] = x
	}
	x.last = l.Now
	p.Since = x.since
	l.found = append(l.found, p)
}

// grows reports a problem if a counter has grown since the state before, or did so a while ago.
// Without a state before, a counter that is not 0 has grown.
func (l *look) grows(counter func(*State) uint64, p Problem) {
	was := uint64(0)
	if l.was != nil {
		was = counter(l.was)
	}
	if since(was, counter(l.State)) > 0 {
		l.lasts(p)
		return
	}
	if x := l.spells[p.ID]; x != nil && l.Now.Sub(x.last) <= linger {
		p.Since = x.since
		l.found = append(l.found, p)
	}
}
