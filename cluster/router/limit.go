package router

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/core"
)

// A limit keeps the series of all partitions within Options.MaxSeries. The partitions count their
// own series; the router adds those that it is about to make. While there is room for all of a
// call, nothing else is asked. When the limit is near, the series of a call are made one by one.
type limit struct {
	most int64
	ask  func() (series, paths int64) // the counts of all partitions

	mu     sync.Mutex // guards what follows; held while the partitions are asked for their counts
	known  int64      // series of all partitions, as they said last, and those made since
	coming int64      // series that are being made
	asked  time.Time  // when the partitions were asked
	paths  int64      // with metadata, as the partitions said last, and those that were set since
}

// countEvery is how long the counts of the partitions are good, unless the limit is near: other
// routers make series, too.
const countEvery = 10 * time.Second

// reserve takes room for n series, and reports whether there is so much.
func (l *limit) reserve(n int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(l.known + l.coming + n)
	if l.known+l.coming+n > l.most {
		return false
	}
	l.coming += n
	return true
}

// count asks the partitions for their counts, if total passes the limit or the counts are old. The
// caller holds mu.
func (l *limit) count(total int64) {
	if now := time.Now(); total > l.most || now.Sub(l.asked) > countEvery {
		l.asked = now
		l.known, l.paths = l.ask()
	}
}

// roomForPaths returns how many of n paths that get metadata may be new.
func (l *limit) roomForPaths(n int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(l.paths + n)
	room := max(l.most-l.paths, 0)
	l.paths += n
	return room
}

// arrived gives back room for n series after some of them were made.
func (l *limit) arrived(n, made int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.coming -= n
	l.known += made
}

// A budget is the memory that shares take together, in bytes.
type budget struct {
	most int64
	used atomic.Int64
}

// share returns a share of nothing yet.
func (b *budget) share() *core.MemoryShare {
	return core.NewMemoryShare(b.most, func(from, to int64) error {
		if used := b.used.Add(to - from); to > from && used > b.most {
			b.used.Add(from - to)
			return fmt.Errorf("%w: %d bytes are needed, %d are free", core.ErrMemory, to-from, b.most-used+to-from)
		}
		return nil
	})
}
