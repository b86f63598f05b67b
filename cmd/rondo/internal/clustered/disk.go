package clustered

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/internal/sleep"
)

const (
	// diskInterval is the time between two looks at the disk.
	diskInterval = 5 * time.Second
	// leastFree is what a disk must have left to take replicas, or a twentieth of it if that is
	// less. One that was full must have twice as much.
	leastFree = 128 << 20
)

// A fullness says whether the disk of a node takes no more. A disk may not answer, so that nobody
// but watch asks it.
type fullness struct{ text atomic.Pointer[string] }

// String returns how much a full disk has left, and an empty text otherwise.
func (f *fullness) String() string {
	if t := f.text.Load(); t != nil {
		return *t
	}
	return ""
}

// look takes in what a disk has, in bytes. Zeros mean that it is not known.
func (f *fullness) look(free, size int64) {
	least := min(leastFree, size/20)
	if f.String() != "" {
		least *= 2
	}
	text := ""
	if free < least {
		text = fmt.Sprintf("%.1f MiB left", float64(free)/(1<<20))
	}
	f.text.Store(&text)
}

// watch looks at the disk until ctx ends.
func (f *fullness) watch(ctx context.Context, space func() (free, size int64)) {
	for {
		f.look(space())
		if sleep.For(ctx, diskInterval) != nil {
			return
		}
	}
}
