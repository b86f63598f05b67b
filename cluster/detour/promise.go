package detour

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// promiseBit is in the references of promises, and in no reference of a router.
const promiseBit = core.Ref(1) << 63

const (
	// promiseCost is what a promise takes beside its texts, in bytes, about.
	promiseCost = 400
	// unusedAfter is for how long a promise without samples is kept where room is short.
	unusedAfter = 10 * time.Minute
)

// A promise stands for a series that could neither be found nor made.
type promise struct {
	ref  core.Ref
	p    int
	key  string // the look-up key
	spec core.Spec
	size int64

	real atomic.Uint64 // the reference of the series in its partition; 0: not known
	used atomic.Int64  // when it was last looked up, in seconds since 1970
}

type promises struct {
	most int64

	mu     sync.RWMutex // guards what follows
	last   core.Ref
	byRef  map[core.Ref]*promise
	byKey  map[string]*promise        // those that a path gets now
	shapes map[string]*rra.Definition // by their bytes: many promises share one
	size   int64
	purged time.Time
}

// give returns the promise for a series, and whether it was there. It is nil if there is no room.
func (x *promises) give(p int, spec *core.Spec, now time.Time) (q *promise, old bool) {
	key, clean, err := core.CleanPath(spec.Path)
	if err != nil {
		return nil, false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if q := x.byKey[key]; q != nil {
		q.used.Store(now.Unix())
		return q, true
	}
	q = &promise{p: p, key: key, spec: *spec, size: promiseCost + int64(len(key)+len(clean))}
	q.spec.Path = clean
	for _, l := range spec.Labels {
		q.size += int64(len(l.Name)+len(l.Value)) + 32
	}
	if x.size+q.size > x.most {
		x.purge(now)
	}
	if x.size+q.size > x.most {
		return nil, false
	}
	if x.byRef == nil {
		x.byRef, x.byKey, x.shapes = make(map[core.Ref]*promise), make(map[string]*promise), make(map[string]*rra.Definition)
	}
	code := string(core.AppendDefinition(nil, spec.Definition))
	if shape := x.shapes[code]; shape != nil {
		q.spec.Definition = shape
	} else {
		x.shapes[code] = spec.Definition
	}
	q.used.Store(now.Unix())
	x.last++
	q.ref = promiseBit | x.last
	x.byRef[q.ref], x.byKey[key] = q, q
	x.size += q.size
	return q, false
}

// purge removes promises that were not used for long. The caller holds mu.
func (x *promises) purge(now time.Time) {
	if now.Sub(x.purged) < time.Second {
		return
	}
	x.purged = now
	for ref, q := range x.byRef {
		if now.Unix()-q.used.Load() < int64(unusedAfter/time.Second) {
			continue
		}
		delete(x.byRef, ref)
		if x.byKey[q.key] == q {
			delete(x.byKey, q.key)
		}
		x.size -= q.size
	}
	if len(x.byRef) == 0 {
		clear(x.shapes)
	}
}

// get returns the promise of a reference, or nil.
func (x *promises) get(ref core.Ref) *promise {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.byRef[ref]
}

// exists says that a path is a series. Its promise stays for the samples that have its reference,
// and later ones get the reference of the series.
func (x *promises) exists(path string) {
	x.mu.RLock()
	none := len(x.byKey) == 0
	x.mu.RUnlock()
	if none {
		return
	}
	key, _, err := core.CleanPath(path)
	if err != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.byKey, key)
}
