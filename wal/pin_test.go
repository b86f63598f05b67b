package wal_test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// A segment whose records could not be synced is copied into the next one and removed. That was
// done also while a replay had yet to open it, and the replay failed: the file did not exist.
func TestSegmentThatReplayReadsWasRemoved(t *testing.T) {
	disk := waltest.NewDisk(1)
	l := open(t, crashDir, wal.Options{FS: disk, Sync: wal.SyncNone, SegmentBytes: 1 << 10})
	var want []string
	for len(l.Segments()) < 2 { // the records of the second are not on the disk
		want = append(want, noise(400))
		appendRecords(t, l, want[len(want)-1])
	}
	second := fmt.Sprintf("%020d.wal", l.Segments()[1].ID)
	there := func() bool { return len(disk.Files(second)) == 1 }
	var got []string
	err := l.Replay(1, func(_ wal.Pos, rec []byte) error {
		if got = append(got, string(rec)); len(got) > 1 {
			return nil
		}
		disk.Fail("sync", 1, false, syscall.EIO)
		if _, err := l.Barrier(t.Context()); err == nil {
			t.Error("the sync of the second segment did not fail")
		}
		appendRecords(t, l, "behind") // into the third, which has a copy of the second
		if segs := l.Segments(); len(segs) != 2 || segs[1].First != wal.Pos(len(want)) {
			t.Errorf("the third segment has no copy of the second: %+v", segs)
		}
		if !there() {
			t.Error("the second segment is removed, and the replay has yet to read it")
		}
		return nil
	})
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("replay: %d records of %d, %v", len(got), len(want), err)
	}
	for n := len(l.Segments()); len(l.Segments()) == n; {
		appendRecords(t, l, noise(400))
	}
	if there() {
		t.Error("no replay reads the second segment any more, and it is still there")
	}
}
