package core

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A Change is a change of the catalogue, as a [Watch] reports it.
type Change struct {
	// Was is the path that the series had before: of a series that is dropped, renamed or replaced.
	// If the path cannot be read any more, it lacks a trailing .rrd.
	Was string
	// Path is the path that the series has now, with Ref and Labels. It is empty if the series was
	// dropped.
	Path   string
	Ref    Ref
	Labels []Label
	// Metadata says that the attributes of Path, which lacks a trailing .rrd, have changed, and
	// nothing else. Path may be no series.
	Metadata bool
}

// A Watch collects the changes of a store's catalogue, in their order, until they are taken.
// Its methods may be called at the same time.
type Watch struct {
	cat  *catalogue // nil: of another Engine, which has given take and end
	most int
	take func() (changes []Change, complete bool)
	end  func()

	mu      sync.Mutex // guards changes and lost; catalogue.mu may be held when it is taken
	changes []Change
	lost    bool
}

type watches struct {
	count atomic.Int32 // the length of all
	mu    sync.Mutex   // guards all; catalogue.mu may be held when it is taken
	all   []*Watch
}

// Watch begins to collect the changes of the catalogue. A watch keeps at most most changes. When
// more come before Take is called, it forgets them all. Without a watch nothing is collected.
func (s *Store) Watch(most int) *Watch {
	w := &Watch{cat: &s.catalogue, most: most}
	ws := &s.catalogue.watches
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.all = append(ws.all, w)
	ws.count.Store(int32(len(ws.all)))
	return w
}

// NewWatch returns a watch of an Engine other than a Store. Take and End call take and end, which
// may be called at the same time and again after end.
func NewWatch(take func() (changes []Change, complete bool), end func()) *Watch {
	return &Watch{take: take, end: end}
}

// Take returns the changes since the last Take. complete is false if changes were forgotten since
// the watch began: whoever follows the catalogue must read it anew, behind a new watch.
func (w *Watch) Take() (changes []Change, complete bool) {
	if w.cat == nil {
		return w.take()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	changes, w.changes = w.changes, nil
	return changes, !w.lost
}

// End ends the watch. It may be called again.
func (w *Watch) End() {
	if w.cat == nil {
		w.end()
		return
	}
	ws := &w.cat.watches
	ws.mu.Lock()
	ws.all = slices.DeleteFunc(ws.all, func(x *Watch) bool { return x == w })
	ws.count.Store(int32(len(ws.all)))
	ws.mu.Unlock()
	w.mu.Lock()
	w.changes, w.lost = nil, true
	w.mu.Unlock()
}

func (w *Watch) add(c Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.lost:
	case len(w.changes) == w.most:
		w.changes, w.lost = nil, true
	default:
		w.changes = append(w.changes, c)
	}
}

func (ws *watches) report(c Change) {
	if ws.count.Load() == 0 {
		return
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, w := range ws.all {
		w.add(c)
	}
}

// reportOp adds a change of the catalogue to every watch.
func (ws *watches) reportOp(o *catOp) {
	if ws.count.Load() == 0 {
		return
	}
	c := Change{Ref: o.ref}
	if o.old != nil {
		c.Was = o.old.path
		if c.Was == "" { // it cannot be read
			c.Was = o.key
		}
	}
	if o.add != nil {
		c.Path, c.Labels = o.add.path, o.add.labels
	}
	ws.report(c)
}
