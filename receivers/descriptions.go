package receivers

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rondo-db/rondo/engine/core"
)

const (
	queuedPaths     = 64 << 10 // paths whose descriptions wait; beyond that new paths are shed
	queuedPathBytes = 16 << 20 // bytes in the descriptions
)

// descriptions wait for the sink: the newest of each path.
type descriptions struct {
	wake chan struct{}

	mu     sync.Mutex // guards what follows
	byPath map[string]Description
	size   int
}

func (t *descriptions) init() {
	t.wake = make(chan struct{}, 1)
	t.byPath = make(map[string]Description)
}

// size returns how many bytes d takes, about.
func (d *Description) size() int {
	n := len(d.Path) + len(d.Text) + len(d.Sender)
	for _, a := range d.Attributes {
		n += len(a.Name) + len(a.Value)
	}
	return n
}

// put adds d, in place of a description that waits for the same path. It reports whether there was
// room. The caller holds mu.
func (t *descriptions) put(d Description) bool {
	old, ok := t.byPath[d.Path]
	size := t.size + d.size()
	if ok {
		size -= old.size()
	}
	if size > queuedPathBytes || !ok && len(t.byPath) >= queuedPaths {
		return false
	}
	t.byPath[d.Path], t.size = d, size
	return true
}

// putBack adds descriptions of paths that have got no newer ones. It returns how many had no room.
func (t *descriptions) putBack(ds []Description) (lost uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range ds {
		if _, newer := t.byPath[d.Path]; !newer && !t.put(d) {
			lost++
		}
	}
	return lost
}

// drain returns the descriptions that wait, and removes them.
func (t *descriptions) drain() []Description {
	t.mu.Lock()
	defer t.mu.Unlock()
	ds := make([]Description, 0, len(t.byPath))
	for _, d := range t.byPath {
		ds = append(ds, d)
	}
	clear(t.byPath)
	t.size = 0
	return ds
}

// Describe stores metadata of a path. It does not wait. If descriptions come faster than they can
// be stored, the newest of each path is stored. If too many paths wait, d is shed, counted as
// Overload, and Describe returns false.
func (q *Queue) Describe(d Description) bool {
	q.descriptions.mu.Lock()
	ok := q.descriptions.put(d)
	q.descriptions.mu.Unlock()
	if !ok {
		q.c.Drop(Overload, 1)
		return false
	}
	select {
	case q.descriptions.wake <- struct{}{}:
	default: // keepDescriptions is awake already
	}
	return true
}

// Describing returns how many paths have descriptions that wait. While they are few, Describe sheds
// nothing.
func (q *Queue) Describing() int {
	q.descriptions.mu.Lock()
	defer q.descriptions.mu.Unlock()
	return len(q.descriptions.byPath)
}

// keepDescriptions hands descriptions to the sink until Stop.
func (q *Queue) keepDescriptions(ctx context.Context) {
	for range q.descriptions.wake {
		for q.describe(ctx, true) && q.descriptions.pause() {
		}
	}
	q.describe(ctx, false)
}

// pause waits before descriptions are handed to the sink again. It returns false after Stop.
func (t *descriptions) pause() bool {
	timer := time.NewTimer(retryFailed)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return true
		case _, open := <-t.wake:
			if !open {
				return false
			}
		}
	}
}

// describe hands the descriptions that wait to the sink. If the sink is out of reach, and there may
// be another time, they wait again, and describe returns true.
func (q *Queue) describe(ctx context.Context, again bool) bool {
	ds := q.descriptions.drain()
	if len(ds) == 0 {
		return false
	}
	out, err := q.sink.Describe(ctx, ds)
	if again && errors.Is(err, core.ErrUnavailable) {
		q.c.Drop(FailureReason(err), q.descriptions.putBack(ds))
		return true
	}
	if err != nil {
		q.c.Drop(FailureReason(err), uint64(len(ds)))
		q.failures.Log(q.log.Error, "metadata", q.now(), "metadata not stored", "paths", len(ds), "err", err)
		return false
	}
	var unreached []Description
	for i, err := range out {
		if err == nil {
			continue
		}
		if again && errors.Is(err, core.ErrUnavailable) {
			unreached = append(unreached, ds[i])
			continue
		}
		why, _ := absence(err)
		q.c.Drop(why, 1)
		q.failures.Log(q.log.Warn, "metadata refused", q.now(), "metadata not stored", "path", ds[i].Path, "err", err)
	}
	q.c.Drop(Overload, q.descriptions.putBack(unreached))
	return len(unreached) > 0
}
