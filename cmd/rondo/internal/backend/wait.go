package backend

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/rondo-db/rondo/query/rpc"
)

// silentWait is how long a command waits for a database before it says so.
const silentWait = time.Second

// A waiting says once what a command waits for, if it waits for long.
type waiting struct {
	target Target
	timer  *time.Timer

	mu    sync.Mutex // guards what follows; held while Notice runs
	asked bool       // a server was asked and has yet to answer
	why   error      // why the database could not be opened; nil: it was not tried, or is being opened
	done  bool
}

// wait begins to wait.
func (t Target) wait() *waiting {
	w := &waiting{target: t}
	if t.Notice != nil {
		w.timer = time.AfterFunc(silentWait, w.tell)
	}
	return w
}

// asks notes whether a server is being asked. If none is, the command opens the database itself.
// That may take long too, and is not reported.
func (w *waiting) asks(server bool) {
	w.mu.Lock()
	w.asked = server
	w.mu.Unlock()
}

// heldUp notes why the database could not be opened.
func (w *waiting) heldUp(err error) {
	w.mu.Lock()
	w.why = err
	w.mu.Unlock()
}

// over ends the waiting. Nothing is reported after it has returned.
func (w *waiting) over() {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Lock()
	w.done = true
	w.mu.Unlock()
}

func (w *waiting) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.done:
	case w.why != nil:
		w.target.Notice(fmt.Sprintf("waiting up to %v: %v", lockPatience, w.why))
	case w.asked:
		w.target.Notice(fmt.Sprintf("waiting for the server at %s to answer", filepath.Join(w.target.Folder(), rpc.SocketName)))
	default:
		w.timer.Reset(silentWait) // perhaps it waits later
	}
}
