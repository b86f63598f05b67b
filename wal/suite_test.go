package wal_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

func TestSuite(t *testing.T) {
	disk := waltest.NewDisk(1)
	for _, c := range []struct {
		name string
		o    wal.Options
	}{
		{"default", wal.Options{}},
		{"small segments", wal.Options{FS: disk, SegmentBytes: 3000}},
		{"little pending", wal.Options{FS: disk, MaxPendingBytes: 500, DisablePreallocate: true}},
		{"interval", wal.Options{Sync: wal.SyncInterval, Interval: time.Millisecond, SegmentBytes: 5000}},
		{"none", wal.Options{Sync: wal.SyncNone, SegmentBytes: 5000}},
		{"plain", wal.Options{FS: disk, SegmentBytes: 5000, DisablePreallocate: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			subject := waltest.Subject{
				Open: func(place string, onDurable func(first, last wal.Pos, err error)) (waltest.Log, error) {
					o := c.o
					o.OnDurable, o.FailFast = onDurable, true
					return wal.Open(place, o)
				},
			}
			if c.o.FS != nil {
				subject.Refuse = disk.Refuse
				subject.Damage = func(l waltest.Log, place string, p wal.Pos) {
					b, err := blockOf(l.(*wal.Log), p)
					if err != nil {
						t.Fatal(err)
					}
					disk.Flip(filepath.Join(place, fmt.Sprintf("%020d.wal", b.Segment)), b.Offset+wal.BlockHeader+int64(b.Stored)-1)
				}
			}
			waltest.Run(t, subject)
		})
	}
}

// blockOf returns the block that holds position p.
func blockOf(l *wal.Log, p wal.Pos) (found wal.Block, err error) {
	stop := errors.New("found")
	err = l.Blocks(p, func(b wal.Block) error {
		found = b
		return stop
	})
	if err == stop {
		err = nil
	}
	return found, err
}

// TestAppendAndWait appends without Enqueue's callback: Append waits for its own record, Wait for
// any that was enqueued.
func TestAppendAndWait(t *testing.T) {
	l, err := wal.Open(filepath.Join(t.TempDir(), "log"), wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for want := wal.Pos(1); want <= 3; want++ {
		if p, err := l.Append(t.Context(), []byte("record")); err != nil || p != want || l.Last() != want {
			t.Fatalf("append: got position %d, %v, last is %d, want %d", p, err, l.Last(), want)
		}
	}
	p, err := l.Enqueue([]byte("record"))
	if err != nil || p != 4 {
		t.Fatalf("enqueue: got position %d, %v, want 4", p, err)
	}
	if err := l.Wait(t.Context(), p); err != nil || l.Last() != p {
		t.Errorf("wait: got %v, and last is %d", err, l.Last())
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Append(t.Context(), nil); !errors.Is(err, wal.ErrClosed) {
		t.Errorf("append to a closed log: got %v, want ErrClosed", err)
	}
}

func TestAppendWithEndedContext(t *testing.T) {
	l, err := wal.Open(filepath.Join(t.TempDir(), "log"), wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// Which of the two is seen first is open; a position that was given must hold.
	if p, err := l.Append(ctx, []byte("record")); err != nil && !errors.Is(err, context.Canceled) || err == nil && p != 1 {
		t.Errorf("append with a context that has ended: got %d, %v", p, err)
	}
	if _, err := l.Barrier(t.Context()); err != nil {
		t.Error(err)
	}
	n := 0
	if err := l.Replay(1, func(wal.Pos, []byte) error { n++; return nil }); err != nil || n != 1 {
		t.Errorf("replay: got %d records, %v, want 1", n, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
