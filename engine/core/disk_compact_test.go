//go:build faults

package core_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// TestDiskCutsOfCompact loses power at each call of a compaction that changes a file or a name, or
// at every seventh. What is left is the database as it was, and the next start removes the copy.
func TestDiskCutsOfCompact(t *testing.T) {
	seed := seedtest.One(t)
	f := newFaultRun(t, seed)
	s := mustOpen(t, f.task.dir, f.wrap(core.Options{NoBackground: true}))
	f.loadMore(s, 12)
	mustClose(t, s.Checkpoint(t.Context()))
	f.loadMore(s, 2) // the log has something to replay
	step := 1        // all of them take half a minute
	if seedtest.Crashes(0) < 50 {
		step = 7
	}
	cuts := 0
	for n := 1 + int(seed%uint64(step)); !t.Failed(); n += step {
		left, name := n, filepath.Join(f.task.dir, "rondo.bolt.compacting")
		var half []byte
		mustClose(t, s.Abandon())
		f.base.mu.Lock()
		f.base.cut = func() bool {
			if left--; left == 0 {
				half, _ = os.ReadFile(name) // a process that is killed does not remove it
			}
			return left <= 0
		}
		f.base.mu.Unlock()
		_, err := core.Compact(context.Background(), f.task.dir, f.wrap(core.Options{}))
		if left > 0 {
			mustClose(t, err)
			break
		}
		cuts++
		f.base.restart(t)
		f.log = f.log.Restart()
		if len(half) > 0 {
			mustClose(t, os.WriteFile(name, bytes.TrimRight(half, "\x00"), 0o600))
		}
		s = mustOpen(t, f.task.dir, f.wrap(core.Options{NoBackground: true}))
		noCopyLeft(t, f.task.dir)
		f.compare(s)
	}
	if cuts < 5 {
		t.Errorf("%d cuts", cuts)
	}
	t.Logf("seed %d: power was lost at %d calls", seed, cuts)
}
