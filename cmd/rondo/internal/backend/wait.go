package backend

import (
	"sync"
	"time"
)

// silentWait is how long a command waits for a database before it says so.
const silentWait = time.Second

// A waiting says once what a command waits for, if it waits for long.
type waiting struct {
	notice func(line string)
	timer  *time.Timer

	mu   sync.Mutex // guards what follows; held while notice runs
	what string     // empty: the database is being opened, which is not reported
	over bool
}

// wait begins to wait.
func (t Target) wait() *waiting {
	w := &waiting{notice: t.Notice, over: t.Notice == nil}
	w.timer = time.AfterFunc(silentWait, w.report)
	return w
}

// on notes what the command waits for.
func (w *waiting) on(what string) {
	w.mu.Lock()
	w.what = what
	w.mu.Unlock()
}

// end ends the waiting. Nothing is reported after it has returned.
func (w *waiting) end() {
	w.timer.Stop()
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
}

func (w *waiting) report() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.over:
	case w.what == "":
		w.timer.Reset(silentWait) // perhaps it waits later
	default:
		w.notice("waiting " + w.what)
	}
}
