package receivers

import (
	"context"
	"sync"
)

const (
	queuedTexts    = 64 << 10 // descriptions that wait; beyond that new paths are shed
	queuedTextSize = 16 << 20 // bytes of them
)

// texts are descriptions on their way to the sink: the newest of each path.
type texts struct {
	wake chan struct{}

	mu     sync.Mutex // guards what follows
	byPath map[string]Description
	size   int
}

func (t *texts) init() {
	t.wake = make(chan struct{}, 1)
	t.byPath = make(map[string]Description)
}

func (d *Description) size() int {
	n := len(d.Path) + len(d.Text) + len(d.Sender)
	for _, a := range d.Attributes {
		n += len(a.Name) + len(a.Value)
	}
	return n
}

// put keeps d in place of what waits for the same path, and reports whether there was room.
func (t *texts) put(d Description) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	old, ok := t.byPath[d.Path]
	size := t.size + d.size()
	if ok {
		size -= old.size()
	}
	if size > queuedTextSize || !ok && len(t.byPath) >= queuedTexts {
		return false
	}
	t.byPath[d.Path], t.size = d, size
	return true
}

func (t *texts) take() []Description {
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

// Describe keeps metadata of a path. It does not wait; of what comes faster than it can be stored,
// the newest of each path is kept, and where too many paths wait it is shed.
func (q *Queue) Describe(d Description) bool {
	if !q.texts.put(d) {
		q.c.Drop(Overload, 1)
		return false
	}
	select {
	case q.texts.wake <- struct{}{}:
	default: // it has been told
	}
	return true
}

// Describing returns how many paths wait in Describe: while they are few, it sheds nothing.
func (q *Queue) Describing() int {
	q.texts.mu.Lock()
	defer q.texts.mu.Unlock()
	return len(q.texts.byPath)
}

func (q *Queue) keepTexts(ctx context.Context) {
	for range q.texts.wake {
		q.describe(ctx, q.texts.take())
	}
	q.describe(ctx, q.texts.take())
}

func (q *Queue) describe(ctx context.Context, ds []Description) {
	if len(ds) == 0 {
		return
	}
	out, err := q.sink.Describe(ctx, ds)
	if err != nil {
		q.c.Drop(FailureReason(err), uint64(len(ds)))
		if ok, held := q.failures.Allow("metadata", q.now()); ok {
			q.log.Error("metadata not stored", "paths", len(ds), "err", err, "held_back_lines", held)
		}
		return
	}
	for i, err := range out {
		if err == nil {
			continue
		}
		q.c.Drop(Limit, 1)
		if ok, held := q.failures.Allow("metadata refused", q.now()); ok {
			q.log.Warn("metadata not stored", "path", ds[i].Path, "err", err, "held_back_lines", held)
		}
	}
}
