package detour

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
)

// promiseBit is in the references of promises within a partition, and in no reference of a series.
const promiseBit = core.Ref(1) << 47

const (
	// promiseCost is what a promise takes beside its texts, in bytes, about.
	promiseCost = 400
	// unusedAfter is for how long a promise without samples is kept where room is short.
	unusedAfter = 10 * time.Minute
)

// A promise stands for a series that could neither be found nor made. How it is to be made goes
// into the spool with its samples.
type promise struct {
	ref  core.Ref // of the router's
	key  string   // the look-up key
	spec core.Spec
	size int64
	used atomic.Int64 // when it was last looked up, in seconds since 1970
}

type promises struct {
	most int64

	mu     sync.RWMutex // guards what follows
	last   core.Ref
	byRef  map[core.Ref]*promise // by the reference within the partition
	byKey  map[string]*promise
	size   int64
	purged time.Time
}

// give returns the promise for a series of partition p, and whether it was there. It is nil if
// there is no room.
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
	q = &promise{key: key, spec: *spec, size: promiseCost + int64(len(key)+len(clean))}
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
		x.byRef, x.byKey = make(map[core.Ref]*promise), make(map[string]*promise)
	}
	q.used.Store(now.Unix())
	x.last++
	q.ref = router.Outer(p, promiseBit|x.last)
	x.byRef[promiseBit|x.last], x.byKey[key] = q, q
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
		if now.Unix()-q.used.Load() >= int64(unusedAfter/time.Second) {
			delete(x.byRef, ref)
			delete(x.byKey, q.key)
			x.size -= q.size
		}
	}
}

// get returns the promise of a reference within a partition, or nil.
func (x *promises) get(ref core.Ref) *promise {
	x.mu.RLock()
	defer x.mu.RUnlock()
	q := x.byRef[ref]
	if q != nil {
		q.used.Store(time.Now().Unix())
	}
	return q
}
