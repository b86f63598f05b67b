package wal_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/golang/snappy"

	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// What is enqueued while one commit syncs goes into the next as one, with one write and one sync.
func TestGroupCommit(t *testing.T) {
	disk := waltest.NewDisk(1)
	l := open(t, "/wal", wal.Options{FS: disk, DisablePreallocate: true})
	appendRecords(t, l, "begins the segment")

	syncing, release := make(chan struct{}), make(chan struct{})
	var ops []string
	disk.Fault = func(op waltest.Op) (int, error) {
		ops = append(ops, op.Kind) // the disk calls one at a time
		if len(ops) == 2 {
			close(syncing)
			<-release
		}
		return 0, nil
	}
	if _, err := l.Enqueue([]byte("alone")); err != nil {
		t.Fatal(err)
	}
	<-syncing
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			if _, err := l.Enqueue(fmt.Append(nil, "appender ", w)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	close(release)
	if p, err := l.Barrier(t.Context()); p != 34 || err != nil {
		t.Fatal(p, err)
	}
	if got, want := fmt.Sprint(ops), "[write sync write sync]"; got != want {
		t.Errorf("34 records took the operations %v, want %v", got, want)
	}
	if s := l.Stats(); s.Commits != 3 || s.Records != 34 {
		t.Errorf("got %d commits of %d records, want 3 of 34", s.Commits, s.Records)
	}
}

// Between a failure and the end of OnDurable's call nothing is enqueued, and afterwards the first
// position that failed is the next: so a caller can begin its coding anew in OnDurable.
func TestFailureIsToldBeforePositionsAreGivenAgain(t *testing.T) {
	for _, failFast := range []bool{false, true} {
		t.Run(fmt.Sprintf("fail fast %t", failFast), func(t *testing.T) {
			disk := waltest.NewDisk(1)
			rnd := rand.New(rand.NewPCG(1, 1))
			// The caller codes each record as the difference to the one before.
			var mu sync.Mutex // with FailFast it is held around Enqueue
			var coded, durable uint64
			var failures atomic.Int64
			o := wal.Options{FS: disk, FailFast: failFast, MaxPendingBytes: 200}
			o.OnDurable = func(first, last wal.Pos, err error) {
				if failFast {
					mu.Lock()
					defer mu.Unlock()
				}
				if err == nil {
					durable = uint64(last)
					return
				}
				failures.Add(1)
				if uint64(first) != durable+1 {
					t.Errorf("failure told of %d, durable %d", first, durable)
				}
				coded = durable
			}
			l := open(t, "/wal", o)
			disk.Fault = func(op waltest.Op) (int, error) {
				if op.Kind == "sync" && rnd.IntN(4) == 0 {
					return 0, syscall.EIO
				}
				return 0, nil
			}
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 200 {
						if !failFast {
							_, _ = l.Append(context.Background(), []byte("x")) // fails at times
							continue
						}
						mu.Lock()
						rec := binary.LittleEndian.AppendUint64(nil, coded+1)
						if p, err := l.Enqueue(rec); err == nil {
							if coded++; uint64(p) != coded {
								t.Errorf("got position %d, want %d", p, coded)
							}
						} else if !errors.Is(err, wal.ErrRetry) {
							t.Errorf("enqueue: got %v, want ErrRetry", err)
						}
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			_, _ = l.Barrier(t.Context()) // may fail too
			if failures.Load() == 0 {
				t.Error("nothing failed")
			}
			err := l.Replay(0, func(p wal.Pos, rec []byte) error {
				if failFast && binary.LittleEndian.Uint64(rec) != uint64(p) {
					return fmt.Errorf("position %d holds %d", p, binary.LittleEndian.Uint64(rec))
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// With FailFast Enqueue does not wait while OnDurable is called: it may hold the lock that
// OnDurable waits for.
func TestFailFastDoesNotWaitForItself(t *testing.T) {
	var mu sync.Mutex
	entered, filled := make(chan struct{}), make(chan struct{})
	o := wal.Options{FS: waltest.NewDisk(1), FailFast: true, MaxPendingBytes: 100}
	o.OnDurable = func(first, _ wal.Pos, _ error) {
		if first == 1 {
			close(entered)
			<-filled
		}
		mu.Lock()
		defer mu.Unlock()
	}
	l := open(t, "/wal", o)
	if _, err := l.Enqueue(make([]byte, 60)); err != nil {
		t.Fatal(err)
	}
	<-entered
	done := make(chan error, 1)
	go func() {
		mu.Lock()
		defer mu.Unlock()
		var errs []error
		for range 4 { // more than may be pending
			_, err := l.Enqueue(make([]byte, 60))
			errs = append(errs, err)
		}
		done <- errors.Join(errs...)
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		panic("Enqueue waits for OnDurable, which waits for it") // nor would Close come back
	}
	close(filled)
	if p, err := l.Barrier(t.Context()); p != 5 || err != nil {
		t.Error(p, err)
	}
}

// Enqueue waits when too much is pending, and Close lets it go.
func TestPendingIsBounded(t *testing.T) {
	disk := waltest.NewDisk(1)
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	o := wal.Options{FS: disk, MaxPendingBytes: 1000}
	o.OnDurable = func(wal.Pos, wal.Pos, error) {
		once.Do(func() { close(entered); <-release })
	}
	l := open(t, "/wal", o)
	rec := make([]byte, 300)
	if _, err := l.Enqueue(rec); err != nil {
		t.Fatal(err)
	}
	<-entered
	var done atomic.Int64
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := l.Enqueue(rec); err == nil {
				done.Add(1)
			} else if !errors.Is(err, wal.ErrClosed) {
				t.Error(err)
			}
		})
	}
	closed := make(chan error)
	go func() { closed <- l.Close() }()
	wg.Wait() // none waits forever, though nothing is committed
	if n := done.Load(); n > 3 {
		t.Errorf("%d records of %d bytes were taken, the bound is %d", n, len(rec), o.MaxPendingBytes)
	}
	close(release)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if l.Last() != wal.Pos(1+done.Load()) {
		t.Errorf("closed with %d records, want %d", l.Last(), 1+done.Load())
	}
}

func TestTooLarge(t *testing.T) {
	l := open(t, t.TempDir(), wal.Options{})
	if _, err := l.Enqueue(make([]byte, wal.MaxRecord+1)); !errors.Is(err, wal.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	// Noise, which does not shrink.
	rec := make([]byte, wal.MaxRecord)
	rnd := rand.NewChaCha8([32]byte{})
	_, _ = rnd.Read(rec) // never fails
	appendRecords(t, l, string(rec), "small")
	if got := records(t, l, 0); len(got) != 2 || got[0] != string(rec) {
		t.Errorf("the largest record did not come back")
	}
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, wal.Options{})
	if _, err := wal.Open(dir, wal.Options{}); !errors.Is(err, wal.ErrLocked) {
		t.Errorf("second open: got %v, want ErrLocked", err)
	}
	r := open(t, dir, wal.Options{ReadOnly: true})
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	open(t, dir, wal.Options{})
}

// An empty log goes on behind what its caller holds, and one with records that ends before it is
// refused: it lacks some.
func TestAfter(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		after, first, last wal.Pos
	}{
		{10, 11, 10},
		{5, 11, 12}, // the next two are logged by the round before
		{14, 11, 14},
		{0, 11, 16},
	} {
		l := open(t, dir, wal.Options{After: c.after})
		if l.First() != c.first || l.Last() != c.last {
			t.Fatalf("after %d: log has %d to %d, want %d to %d", c.after, l.First(), l.Last(), c.first, c.last)
		}
		appendRecords(t, l, "a", "b")
		if l.Last() != c.last+2 {
			t.Fatalf("after %d: log ends with %d, want %d", c.after, l.Last(), c.last+2)
		}
		records(t, l, 0)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if l, err := wal.Open(dir, wal.Options{After: 19}); !errors.Is(err, wal.ErrHole) {
		t.Errorf("a log up to 18 opened for somebody who holds 19: %v, %v", l, err)
	}
}

// Truncated segments are written again, and what they held never comes back.
func TestRecycling(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, wal.Options{SegmentBytes: 20_000})
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := range 400 {
		rec := make([]byte, 400)
		for j := range rec {
			rec[j] = byte(rnd.Uint32())
		}
		if p, err := l.Append(t.Context(), rec); err != nil {
			t.Fatal(err)
		} else if i%50 == 49 {
			if err := l.Truncate(p - 20); err != nil {
				t.Fatal(err)
			}
		}
	}
	recycled := 0
	paths, _ := filepath.Glob(filepath.Join(dir, "*.wal"))
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		recycled += int(b[9] & 1)
	}
	if recycled == 0 {
		t.Errorf("none of %d segments was another one before", len(paths))
	}
	first, last := l.First(), l.Last()
	// A kill: what follows the last block is still there.
	copied := t.TempDir()
	for _, path := range append(paths, filepath.Join(dir, "mark")) {
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(filepath.Join(copied, filepath.Base(path)), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	k := open(t, copied, wal.Options{SegmentBytes: 20_000})
	if k.First() != first || k.Last() != last || k.Stats().TornBytes != 0 {
		t.Errorf("log has %d to %d and %d bytes torn, want %d to %d and none", k.First(), k.Last(), k.Stats().TornBytes, first, last)
	}
	records(t, k, 0)
	if s := l.Stats(); s.DiskBytes > 10*20_000 {
		t.Errorf("log of %d bytes takes %d", s.Bytes, s.DiskBytes)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if free, _ := filepath.Glob(filepath.Join(dir, "*.free")); len(free) > 0 {
		t.Errorf("closed log keeps %v", free)
	}
}

// A truncated log is short, and a closed one has no more than what is in it.
func TestTruncateRollsActiveSegment(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, wal.Options{})
	for range 8 {
		appendRecords(t, l, noise(300_000))
	}
	if err := l.Truncate(l.Last()); err != nil {
		t.Fatal(err)
	}
	if s := l.Stats(); s.First != 9 || s.Bytes > 1000 || s.Segments != 1 {
		t.Errorf("truncated whole: got %+v", s)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "*"))
	var size int64
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if want := int64(wal.SegmentHeader + len(wal.MarkFile(wal.Mark{}))); size != want {
		t.Errorf("closed log has %d bytes in %v, want %d", size, paths, want)
	}
	if l = open(t, dir, wal.Options{}); l.First() != 9 || l.Last() != 8 {
		t.Errorf("reopened log has %d to %d, want 9 to 8", l.First(), l.Last())
	}
}

func noise(n int) string {
	b := make([]byte, n)
	rnd := rand.NewChaCha8([32]byte{})
	_, _ = rnd.Read(b) // never fails
	return string(b)
}

// Packed payloads are plain snappy: the library alone reads them.
func TestPayloadIsSnappy(t *testing.T) {
	disk := waltest.NewDisk(1)
	l := open(t, "/wal", wal.Options{FS: disk})
	rec := strings.Repeat("rondo ", 100)
	appendRecords(t, l, rec, noise(50))
	var codecs []wal.Codec
	err := l.Blocks(0, func(b wal.Block) error {
		codecs = append(codecs, b.Codec)
		file := disk.Files("*.wal")[fmt.Sprintf("/wal/%020d.wal", b.Segment)]
		payload := file[b.Offset+wal.BlockHeader:][:b.Stored]
		if b.Codec == wal.Raw {
			return nil
		}
		raw, err := snappy.Decode(nil, payload)
		if err != nil {
			return err
		}
		n, k := binary.Uvarint(raw)
		if got := string(raw[k+4:]); int(n) != len(rec) || got != rec {
			t.Errorf("got %q, want %q", got, rec)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(codecs), "[snappy raw]"; got != want {
		t.Errorf("got codecs %v, want %v", got, want)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []wal.Options{{SegmentBytes: -1}, {Interval: -1}, {MaxPendingBytes: -1}, {Sync: 9}} {
		if l, err := wal.Open(t.TempDir(), o); err == nil {
			t.Errorf("%+v was taken", o)
			_ = l.Close() // it should not be there
		}
	}
	if _, err := wal.Open(filepath.Join(t.TempDir(), "none"), wal.Options{ReadOnly: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("read-only folder that is not there: got %v", err)
	}
}
