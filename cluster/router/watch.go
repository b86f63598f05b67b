package router

import (
	"sync"

	"github.com/rondo-db/rondo/engine/core"
)

// A watching is a watch of every partition.
type watching struct {
	r    *Store
	most int

	mu   sync.Mutex // guards what follows
	all  []watched
	lost bool // changes may have been missed
}

// A watched is the watch of one partition at one engine.
type watched struct {
	e core.Engine
	w *core.Watch
}

// Watch is core.Store's. The changes of one partition are in their order; changes of two partitions
// are not. A series that is renamed to a path of another partition is reported as a series that
// comes and one that goes. The watch is not complete any more when another engine answers for a
// partition.
func (r *Store) Watch(most int) *core.Watch {
	ws := &watching{r: r, most: most, all: make([]watched, r.n)}
	for p := range ws.all {
		e, err := r.dir.Reader(ended, p)
		if err != nil {
			ws.lost = true
			continue
		}
		ws.all[p] = watched{e, e.Watch(most)}
	}
	return core.NewWatch(ws.take, ws.end)
}

func (ws *watching) take() ([]core.Change, bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	var out []core.Change
	for p, x := range ws.all {
		if x.w == nil {
			continue
		}
		if e, err := ws.r.dir.Reader(ended, p); err != nil || e != x.e {
			ws.lost = true
		}
		changes, complete := x.w.Take()
		if !complete {
			ws.lost = true
		}
		for i := range changes {
			changes[i].Ref = Outer(p, changes[i].Ref)
		}
		out = append(out, changes...)
	}
	if ws.lost || len(out) > ws.most {
		ws.lost = true
		return nil, false
	}
	return out, true
}

func (ws *watching) end() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, x := range ws.all {
		if x.w != nil {
			x.w.End()
		}
	}
	ws.all, ws.lost = nil, true
}
