package wal_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// errorOnceFS returns an error of write-back as Linux does, once for each open file: the first Sync
// of a segment after arm gets EIO and leaves what was written off the disk; one that runs beside it
// returns nil. It fails the test if two run at the same time.
type errorOnceFS struct {
	*waltest.Disk
	t testing.TB

	mu      sync.Mutex
	running map[string]int
	armed   bool
	begun   chan struct{} // closed when the Sync that fails has begun
	beside  chan struct{} // closed when another one ran beside it
	once    sync.Once
	fail    atomic.Bool // the next Sync is the one
}

type errorOnceFile struct {
	wal.File
	fs   *errorOnceFS
	name string
}

func newErrorOnceFS(t testing.TB) *errorOnceFS {
	f := &errorOnceFS{Disk: waltest.NewDisk(1), t: t, running: map[string]int{}, begun: make(chan struct{}), beside: make(chan struct{})}
	f.Fault = func(op waltest.Op) (int, error) {
		if op.Kind == "sync" && f.fail.Load() {
			return 0, syscall.EIO
		}
		return 0, nil
	}
	return f
}

func (f *errorOnceFS) wrap(x wal.File, err error, name string) (wal.File, error) {
	if err != nil {
		return nil, err
	}
	return &errorOnceFile{x, f, name}, nil
}

func (f *errorOnceFS) Create(name string) (wal.File, error) {
	x, err := f.Disk.Create(name)
	return f.wrap(x, err, name)
}

func (f *errorOnceFS) Open(name string, write bool) (wal.File, error) {
	x, err := f.Disk.Open(name, write)
	return f.wrap(x, err, name)
}

func (f *errorOnceFS) Named(name string, x wal.File) (bool, error) {
	return f.Disk.Named(name, x.(*errorOnceFile).File)
}

func (f *errorOnceFS) arm() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = true
}

func (f *errorOnceFile) Sync() error {
	fs := f.fs
	fs.mu.Lock()
	if fs.running[f.name]++; fs.running[f.name] > 1 {
		fs.t.Errorf("two syncs of %s at the same time", f.name)
		defer fs.once.Do(func() { close(fs.beside) })
	}
	fail := fs.armed
	fs.armed = false
	fs.mu.Unlock()
	defer func() {
		fs.mu.Lock()
		fs.running[f.name]--
		fs.mu.Unlock()
	}()
	if !fail {
		return f.File.Sync()
	}
	fs.fail.Store(true)
	err := f.File.Sync()
	fs.fail.Store(false)
	close(fs.begun)
	select { // until somebody syncs beside it, or has had the time to
	case <-fs.beside:
	case <-time.After(100 * time.Millisecond):
	}
	return err
}

// A failed sync that the clock or a barrier began was thrown away when the segment ended meanwhile,
// or when another barrier synced it too: that sync returned nil, since the error is returned once.
func TestSyncErrorToldOnceIsNotLost(t *testing.T) {
	rec := noise(300)
	for _, c := range []struct {
		name   string
		beside func(t *testing.T, l *wal.Log) // what wants to sync or leave the segment meanwhile
	}{
		{"the segment ends", func(t *testing.T, l *wal.Log) {
			for range 8 {
				_, _ = l.Append(t.Context(), []byte(rec)) // those in the segment that failed are written again
			}
		}},
		{"another barrier", func(t *testing.T, l *wal.Log) { _, _ = l.Barrier(t.Context()) }},
		{"truncation", func(_ *testing.T, l *wal.Log) { _ = l.Truncate(l.Last()) }},
		{"close", func(_ *testing.T, l *wal.Log) { _ = l.Close() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := newErrorOnceFS(t)
			o := wal.Options{FS: fs, Sync: wal.SyncNone, SegmentBytes: 1 << 10}
			l := open(t, crashDir, o)
			appendRecords(t, l, rec)
			fs.arm()
			barrier := make(chan error, 1)
			go func() {
				_, err := l.Barrier(t.Context())
				barrier <- err
			}()
			<-fs.begun
			var wg sync.WaitGroup
			wg.Go(func() { c.beside(t, l) })
			if err := <-barrier; !errors.Is(err, wal.ErrRetry) {
				t.Errorf("the barrier whose sync failed: got %v, want ErrRetry", err)
			}
			wg.Wait()
			if c.name != "close" {
				if _, err := l.Barrier(t.Context()); err != nil {
					t.Errorf("barrier when the disk works again: %v", err)
				}
			}
			last := l.Last()
			o.FS = fs.Disk.Restart()
			_ = l.Close() // its disk is gone
			k := open(t, crashDir, o)
			if k.Last() != last {
				t.Errorf("after loss of power the log ends at %d, want %d", k.Last(), last)
			}
			if got := records(t, k, 0); len(got) > 0 && got[0] != rec {
				t.Error("a record came back changed")
			}
		})
	}
}
