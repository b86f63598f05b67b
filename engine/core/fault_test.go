package core_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// A feeder appends to some series of a store, all of them at each tick.
type feeder struct {
	t    testing.TB
	s    *core.Store
	refs []core.Ref
	tick int64
}

func newFeeder(t testing.TB, s *core.Store, n int) *feeder {
	t.Helper()
	f := &feeder{t: t, s: s}
	def := testDefinition(t)
	var specs []core.Spec
	for i := range n {
		specs = append(specs, core.Spec{Path: fmt.Sprintf("host/%d", i), Definition: def, Start: rra.Seconds(programStart)})
	}
	out, err := s.CreateBatch(context.Background(), specs)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range out {
		if x.Err != nil {
			t.Fatal(x.Err)
		}
		f.refs = append(f.refs, x.Ref)
	}
	return f
}

// reopened is f on another store of the same content.
func (f *feeder) reopened(s *core.Store) *feeder {
	g := *f
	g.s = s
	return &g
}

func (f *feeder) at() rra.Time { return rra.Seconds(programStart + 10*f.tick) }

// feed appends n ticks, or as many as it can.
func (f *feeder) feed(n int) error {
	var b core.Batch
	for range n {
		b.Reset()
		f.tick++
		for i, ref := range f.refs {
			b.Add(ref, f.at(), rra.Float(float64(f.tick*int64(i+1)%1000)/4))
		}
		if err := f.s.Append(context.Background(), &b); err != nil {
			f.tick--
			return err
		}
	}
	return nil
}

func (f *feeder) mustFeed(n int) {
	f.t.Helper()
	if err := f.feed(n); err != nil {
		f.t.Fatal(err)
	}
}

// verify compares the newest and the oldest rows of some series, and checks.
func (f *feeder) verify() {
	f.t.Helper()
	ctx := context.Background()
	for i := 0; i < len(f.refs); i += 1 + len(f.refs)/20 {
		if at, err := f.s.Last(f.refs[i]); err != nil || at != f.at() {
			f.t.Fatalf("last update of series %d: %d, %v, want %d", i, at.Unix(), err, f.at().Unix())
		}
		rows, err := f.s.Fetch(ctx, f.refs[i], 0, max(programStart, f.at().Unix()-3600), f.at().Unix())
		if err != nil {
			f.t.Fatal(err)
		}
		for j, v := range rows.Values {
			k := (rows.Start + int64(j+1)*10 - programStart) / 10 * int64(i+1) % 1000
			if want := float64(k) / 4; v != want {
				f.t.Fatalf("series %d, row at %d: %v, want %v", i, rows.Start+int64(j+1)*10, v, want)
			}
		}
	}
	enginetest.Check(f.t, f.s)
}

func mustOpen(t testing.TB, dir string, o core.Options) *core.Store {
	t.Helper()
	s, err := core.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustClose(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestLogFull fills the log's disk under many appenders: all get an error, reads go on, and all go
// on when there is space.
func TestLogFull(t *testing.T) {
	disk := waltest.NewDisk(1)
	disk.Capacity = 600 << 10
	dir := t.TempDir()
	var lines bytes.Buffer // written by the log's own goroutine alone
	o := core.Options{NoBackground: true, Logger: slog.New(slog.NewTextHandler(&lines, nil))}.WithFS(disk)
	s := mustOpen(t, dir, o)
	feeders := make([]*feeder, 16)
	all := newFeeder(t, s, 40*len(feeders))
	for i := range feeders {
		f := *all
		f.refs = all.refs[40*i : 40*i+40]
		feeders[i] = &f
	}
	each := func(fn func(f *feeder)) {
		var wg sync.WaitGroup
		for _, f := range feeders {
			wg.Go(func() { fn(f) })
		}
		wg.Wait()
	}
	for range 3 {
		each(func(f *feeder) {
			err := f.feed(1 << 30)
			if !errors.Is(err, wal.ErrFull) || !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("append on a full disk: %v", err)
			}
			if at, err := s.Last(f.refs[0]); err != nil || at != f.at() {
				t.Errorf("last update on a full disk: %d, %v, want %d", at, err, f.at())
			}
		})
		disk.Fault = func(waltest.Op) (int, error) { return 0, syscall.ENOSPC }
		if _, err := s.Create(t.Context(), core.Spec{Path: "new", Definition: testDefinition(t)}); !errors.Is(err, wal.ErrFull) {
			t.Errorf("create on a full disk: %v", err)
		}
		if _, err := s.Lookup("new"); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("a series that was not created is there: %v", err)
		}
		s.AwaitTold()
		disk.Fault = nil
		if err := s.Checkpoint(t.Context()); err != nil { // else it made room
			disk.Capacity += 300 << 10
		}
	}
	disk.Capacity = 0
	each(func(f *feeder) {
		if err := f.feed(10); err != nil {
			t.Errorf("append with space again: %v", err)
		}
	})
	want, failures := mustDigest(t, s), s.Stats().LogFailures
	mustClose(t, s.Abandon())
	if n := strings.Count(lines.String(), "log write failed"); n < 1 || n > 2 || failures < 3 { // one a minute
		t.Errorf("%d failures and %d lines of them", failures, n)
	}
	disk = disk.Restart()
	s = mustOpen(t, dir, core.Options{NoBackground: true}.WithFS(disk))
	sameDigest(t, "reopen", mustDigest(t, s), want)
	enginetest.Check(t, s)
	mustClose(t, s.Close())
}

// mountTmpfs mounts a small file system for the test, or skips it.
func mountTmpfs(t *testing.T, size string) (dir string, remount func(size string, readOnly bool)) {
	t.Helper()
	dir = t.TempDir()
	if os.Getuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	if err := mount(dir, "size="+size, false, false); err != nil {
		t.Skipf("mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unmount(dir); err != nil && !t.Failed() { // a test that failed may have left the store open
			t.Errorf("unmount: %v", err)
		}
	})
	return dir, func(size string, readOnly bool) {
		t.Helper()
		if err := mount(dir, "size="+size, true, readOnly); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDatabaseFull fills the file system of the database, the log being elsewhere.
func TestDatabaseFull(t *testing.T) {
	dir, remount := mountTmpfs(t, "1m")
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "wal")); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	f := newFeeder(t, s, 600)
	failed := 0
	for range 12 {
		f.mustFeed(60)
		if err := s.Checkpoint(t.Context()); err != nil {
			if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "checkpoint: ") {
				t.Fatalf("checkpoint on a full disk: %v", err)
			}
			failed++
		}
	}
	if failed == 0 {
		t.Fatal("the disk did not fill")
	}
	if st := s.Stats(); st.CheckpointFailures != uint64(failed) {
		t.Errorf("%d failures counted, want %d", st.CheckpointFailures, failed)
	}
	f.verify()
	want := mustDigest(t, s)
	mustClose(t, s.Abandon()) // and a crash in this state
	s = mustOpen(t, dir, core.Options{NoBackground: true})
	f = f.reopened(s)
	sameDigest(t, "reopen", mustDigest(t, s), want)
	f.verify()
	remount("64m", false)
	if err := s.Checkpoint(t.Context()); err != nil {
		t.Fatalf("checkpoint with space again: %v", err)
	}
	f.mustFeed(60)
	f.verify()
	mustClose(t, s.Close())
}

// TestDiskFull fills the file system of both, with checkpoints in the background.
func TestDiskFull(t *testing.T) {
	dir, remount := mountTmpfs(t, "3m")
	s := mustOpen(t, dir, core.Options{CheckpointBytes: 128 << 10})
	f := newFeeder(t, s, 600)
	err := f.feed(100_000)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("append on a full disk: %v", err)
	}
	f.verify()
	remount("64m", false)
	// One that is under way in the background may have met the full disk, and fails: this one is
	// behind it.
	mustClose(t, s.Checkpoint(t.Context()))
	for err = f.feed(1); err != nil; err = f.feed(1) {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("append with space again: %v", err)
		}
	}
	f.mustFeed(100)
	f.verify()
	want := mustDigest(t, s)
	mustClose(t, s.Close())
	remount("64m", true)
	if _, err := core.Open(dir, core.Options{}); !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), dir) {
		t.Errorf("open on a read-only file system: %v", err)
	}
	s = mustOpen(t, dir, core.Options{ReadOnly: true})
	sameDigest(t, "read-only", mustDigest(t, s), want)
	f.reopened(s).verify()
	mustClose(t, s.Close())
	remount("64m", false)
}

// TestReadOnlyAfterCrash reads a store whose log was not checkpointed.
func TestReadOnlyAfterCrash(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	f := newFeeder(t, s, 300)
	f.mustFeed(50)
	mustClose(t, s.Checkpoint(t.Context()))
	f.mustFeed(50)
	want := mustDigest(t, s)
	mustClose(t, s.Abandon())
	before := folderDigest(t, dir)
	for range 2 {
		r := mustOpen(t, dir, core.Options{ReadOnly: true})
		sameDigest(t, "read-only", mustDigest(t, r), want)
		f.reopened(r).verify()
		var b core.Batch
		b.Add(f.refs[0], f.at()+1e6, rra.Float(1))
		_, err := r.Create(t.Context(), core.Spec{Path: "x", Definition: testDefinition(t)})
		for _, err := range []error{err, r.Append(t.Context(), &b), r.Checkpoint(t.Context()), core.Drop(t.Context(), r, "host/1")} {
			if !errors.Is(err, core.ErrReadOnly) {
				t.Errorf("change of a read-only store: %v", err)
			}
		}
		mustClose(t, r.Close())
	}
	if after := folderDigest(t, dir); !slices.Equal(after, before) {
		t.Errorf("reading changed the folder:\n%v, was\n%v", after, before)
	}
}

// folderDigest lists the files below dir with their sizes.
func folderDigest(t testing.TB, dir string) (out []string) {
	t.Helper()
	err := filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			out = append(out, fmt.Sprintf("%s %d", name, info.Size()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestUnknownVersion: a database of another format is refused, and the error says whether a newer
// or an older version of rondo wrote it. A version that is missing or garbled is damage: it was
// taken for another format, which neither a repair nor a copy mends.
func TestUnknownVersion(t *testing.T) {
	whole := t.TempDir()
	mustClose(t, mustOpen(t, whole, core.Options{}).Close())
	number := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	put := func(v []byte) func(tx *bolt.Tx) error {
		return func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte("version"), v) }
	}
	seal := func(v []byte) []byte { return sealed("meta", []byte("version"), v) }
	for name, x := range map[string]struct {
		change func(tx *bolt.Tx) error
		is     []error
		says   string
	}{
		"newer":                       {put(seal(number(99))), []error{core.ErrVersion, core.ErrNewer}, "format 99, this program reads format 10: written by a newer version"},
		"newer, of a longer number":   {put(seal([]byte("12345678"))), []error{core.ErrVersion, core.ErrNewer}, "written by a newer version"},
		"older":                       {put(seal(number(4))), []error{core.ErrVersion}, "format 4, this program reads format 10: written by an older version"},
		"older, without checksum":     {put(number(2)), []error{core.ErrVersion}, "format 2, this program reads format 10: written by an older version"},
		"its checksum is missing":     {put(number(core.FormatVersion)), []error{core.ErrDamaged}, "rondo check --repair"},
		"garbled, without checksum":   {put([]byte("\xff\x03\x80\x11")), []error{core.ErrDamaged}, "rondo check --repair"},
		"garbled":                     {put([]byte("12345678")), []error{core.ErrDamaged}, "rondo check --repair"},
		"the version is missing":      {func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Delete([]byte("version")) }, []error{core.ErrDamaged}, "rondo check --repair"},
		"the bucket of it is missing": {func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte("meta")) }, []error{core.ErrDamaged}, "rondo check --repair"},
	} {
		dir := copyStore(t, whole)
		damageDB(t, dir, x.change)
		for _, o := range []core.Options{{}, {ReadOnly: true}} {
			_, err := core.Open(dir, o)
			if err == nil || !strings.Contains(err.Error(), x.says) {
				t.Errorf("%s, read-only %v: %v, want %s", name, o.ReadOnly, err, x.says)
			}
			for _, is := range []error{core.ErrVersion, core.ErrNewer, core.ErrDamaged} {
				if want := slices.Contains(x.is, is); errors.Is(err, is) != want {
					t.Errorf("%s, read-only %v: %v is %q: %v, want %v", name, o.ReadOnly, err, is, !want, want)
				}
			}
		}
	}
}

func damageDB(t testing.TB, dir string, fn func(tx *bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(filepath.Join(dir, "rondo.bolt"), 0o644, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(fn); err != nil {
		t.Fatal(err)
	}
	mustClose(t, db.Close())
}
