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
	most int
	take func() (changes []Change, complete bool) // nil: what Add has given is taken
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
	ws := &s.catalogue.watches
	w := &Watch{most: most}
	w.end = func() {
		ws.mu.Lock()
		defer ws.mu.Unlock()
		ws.all = slices.DeleteFunc(ws.all, func(x *Watch) bool { return x == w })
		ws.count.Store(int32(len(ws.all)))
	}
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

// CollectWatch returns a watch of at most most changes, which somebody gives it. End calls end,
// perhaps again.
func CollectWatch(most int, end func()) *Watch { return &Watch{most: most, end: end} }

// Take returns the changes since the last Take. complete is false if changes were forgotten since
// the watch began: whoever follows the catalogue must read it anew, behind a new watch.
func (w *Watch) Take() (changes []Change, complete bool) {
	if w.take != nil {
		return w.take()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	changes, w.changes = w.changes, nil
	return changes, !w.lost
}

// End ends the watch. It may be called again.
func (w *Watch) End() {
	w.end()
	w.Lose()
}

// Lose says that changes may be missing from now on.
func (w *Watch) Lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes, w.lost = nil, true
}

// Add gives a change to a watch.
func (w *Watch) Add(c Change) {
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
		w.Add(c)
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
