package core_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
)

// Parts of a store that are gone, damaged or of another time: a clear error, or
// everything that was acknowledged, and never less without a word.

// A lostStore is a store that was written, checkpointed, written again and then killed.
type lostStore struct {
	dir  string
	f    *feeder
	want map[string]uint64
}

// newLostStore makes one: 40 ticks in the database, 30 in the log. With middle the last
// checkpoint was killed between its groups and its catalogue.
func newLostStore(t *testing.T, middle bool) *lostStore {
	t.Helper()
	l := &lostStore{dir: filepath.Join(t.TempDir(), "store")}
	s := mustOpen(t, l.dir, core.Options{NoBackground: true})
	l.f = newFeeder(t, s, 700)
	l.f.mustFeed(40)
	mustClose(t, s.Checkpoint(t.Context()))
	l.f.mustFeed(30)
	l.want = mustDigest(t, s)
	killed := ""
	kill := func() {
		killed = copyStore(t, l.dir)
		mustClose(t, os.WriteFile(filepath.Join(killed, "LOCK"), nil, 0o600))
	}
	if middle {
		s.SetHook(func(name string) {
			if name == "checkpoint-groups" {
				kill()
			}
		})
		mustClose(t, s.Checkpoint(t.Context()))
		s.SetHook(nil)
	} else {
		kill()
	}
	mustClose(t, s.Abandon())
	l.dir = killed
	return l
}

// whole opens what is there and wants everything.
func (l *lostStore) whole(t *testing.T) {
	t.Helper()
	s := mustOpen(t, l.dir, core.Options{NoBackground: true})
	sameDigest(t, "reopen", mustDigest(t, s), l.want)
	f := l.f.reopened(s)
	f.verify()
	f.mustFeed(3)
	f.verify()
	mustClose(t, s.Close())
}

// refused wants errors of this kind, to whoever opens it and however often, and nothing changed.
func (l *lostStore) refused(t *testing.T, want error, text string) {
	t.Helper()
	before := folderDigest(t, filepath.Join(l.dir))
	for _, o := range []core.Options{{ReadOnly: true}, {}, {}, {ReadOnly: true}} {
		s, err := core.Open(l.dir, o)
		if err == nil {
			_ = s.Abandon()
			t.Fatalf("read-only %v: the store opened", o.ReadOnly)
		}
		if !errors.Is(err, want) || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), l.dir) {
			t.Errorf("read-only %v: %v, want %v, %q", o.ReadOnly, err, want, text)
		}
	}
	isLock := func(s string) bool { return strings.Contains(strings.ToLower(s), "lock") }
	after := slices.DeleteFunc(folderDigest(t, l.dir), isLock)
	if before = slices.DeleteFunc(before, isLock); !slices.Equal(after, before) {
		t.Errorf("the folder has changed:\n%v, was\n%v", after, before)
	}
}

func (l *lostStore) segments(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(l.dir, "wal", "*.wal"))
	if err != nil || len(names) == 0 {
		t.Fatalf("segments: %v %v", names, err)
	}
	return names
}

func TestLostLog(t *testing.T) {
	for _, middle := range []bool{false, true} {
		l := newLostStore(t, middle)
		aside := filepath.Join(t.TempDir(), "wal")
		mustClose(t, os.Rename(filepath.Join(l.dir, "wal"), aside))
		l.refused(t, wal.ErrHole, "folder is missing")
		mustClose(t, os.Rename(aside, filepath.Join(l.dir, "wal")))
		l.whole(t)
	}
}

// A folder that was emptied is no new log: what it held was acknowledged.
func TestEmptiedLog(t *testing.T) {
	for _, middle := range []bool{false, true} {
		l := newLostStore(t, middle)
		mustClose(t, os.RemoveAll(filepath.Join(l.dir, "wal")))
		mustClose(t, os.Mkdir(filepath.Join(l.dir, "wal"), 0o755))
		l.refused(t, wal.ErrHole, "the folder is empty")
	}
}

// A store that never wrote a checkpoint has nothing but its log: without it, it must not open as an
// empty one.
func TestLostLogBeforeFirstCheckpoint(t *testing.T) {
	l := &lostStore{dir: filepath.Join(t.TempDir(), "store")}
	s := mustOpen(t, l.dir, core.Options{NoBackground: true})
	newFeeder(t, s, 700).mustFeed(2)
	mustClose(t, s.Close())
	mustClose(t, os.RemoveAll(filepath.Join(l.dir, "wal")))
	l.refused(t, wal.ErrHole, "the folder is missing")
	mustClose(t, os.Mkdir(filepath.Join(l.dir, "wal"), 0o755))
	l.refused(t, wal.ErrHole, "the folder is empty")
}

// The newest segment of a killed store is gone: older numbers are no answer.
func TestLostNewestSegment(t *testing.T) {
	l := newLostStore(t, false)
	names := l.segments(t)
	mustClose(t, os.Remove(names[len(names)-1]))
	l.refused(t, wal.ErrHole, "the segment is not there")
}

// A log that was whole once is put in the place of the one that went on: the checkpoint knows
// better.
func TestOlderLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	f := newFeeder(t, s, 700)
	f.mustFeed(10)
	older := filepath.Join(t.TempDir(), "wal")
	mustClose(t, os.CopyFS(older, os.DirFS(filepath.Join(dir, "wal"))))
	f.mustFeed(10)
	mustClose(t, s.Checkpoint(t.Context()))
	mustClose(t, s.Close())
	mustClose(t, os.RemoveAll(filepath.Join(dir, "wal")))
	mustClose(t, os.CopyFS(filepath.Join(dir, "wal"), os.DirFS(older)))
	l := &lostStore{dir: dir}
	l.refused(t, wal.ErrHole, "")
}

// The log of another store is not taken for this one's.
func TestLogOfAnotherStore(t *testing.T) {
	l, other := newLostStore(t, false), newLostStore(t, false)
	mustClose(t, os.RemoveAll(filepath.Join(l.dir, "wal")))
	mustClose(t, os.CopyFS(filepath.Join(l.dir, "wal"), os.DirFS(filepath.Join(other.dir, "wal"))))
	l.refused(t, wal.ErrHole, "this is log")
}

// A server's clean end is known to the database: any byte of the log may go, and it is noticed.
func TestDamageAfterCleanEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := mustOpen(t, dir, core.Options{})
	f := newFeeder(t, s, 20)
	f.mustFeed(3)
	mustClose(t, s.Close())
	l := &lostStore{dir: dir}
	name := l.segments(t)[0]
	whole, err := os.ReadFile(name)
	mustClose(t, err)
	for _, at := range []int{0, 200, len(whole) / 2, len(whole) - 1} {
		b := slices.Clone(whole)
		b[at] ^= 1
		mustClose(t, os.WriteFile(name, b, 0o644))
		var damage *wal.CorruptError
		if s, err := core.Open(dir, core.Options{}); !errors.As(err, &damage) || damage.Segment != 1 || damage.Offset > int64(at) {
			t.Errorf("byte %d flipped: %v, %v, want a CorruptError in segment 1 before it", at, s, err)
		}
		mustClose(t, os.WriteFile(name, whole[:at], 0o644))
		if s, err := core.Open(dir, core.Options{}); !errors.As(err, &damage) || damage.Segment != 1 || damage.Offset > int64(at) {
			t.Errorf("cut to %d bytes: %v, %v, want a CorruptError in segment 1 before it", at, s, err)
		}
	}
	mustClose(t, os.WriteFile(name, whole, 0o644))
	s = mustOpen(t, dir, core.Options{})
	f.reopened(s).verify()
	mustClose(t, s.Close())
}

// A log that is cut below what the database was written from: nothing is removed.
func TestLogBehindGroups(t *testing.T) {
	l := newLostStore(t, true)
	name := l.segments(t)[0]
	whole, err := os.ReadFile(name)
	mustClose(t, err)
	mustClose(t, os.Truncate(name, int64(len(whole)/8)))
	l.refused(t, wal.ErrHole, "is already held")
	mustClose(t, os.WriteFile(name, whole, 0o644))
	l.whole(t)
}

func TestLostDatabase(t *testing.T) {
	l := newLostStore(t, false)
	db := filepath.Join(l.dir, "rondo.bolt")
	whole, err := os.ReadFile(db)
	mustClose(t, err)
	mustClose(t, os.Remove(db))
	if _, err := core.Open(l.dir, core.Options{ReadOnly: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("read-only without a database: %v", err)
	}
	s, err := core.Open(l.dir, core.Options{}) // the log of a small store may be all there
	if err == nil {
		sameDigest(t, "from the log alone", mustDigest(t, s), l.want)
		mustClose(t, s.Abandon())
	} else if !errors.Is(err, wal.ErrHole) || !strings.Contains(err.Error(), "the log begins at") {
		t.Errorf("open without a database: %v", err)
	}
	mustClose(t, os.WriteFile(db, whole, 0o644))
	l.whole(t)
}

// Without a database and with a log that was truncated Open is refused, however often it is tried.
func TestLostDatabaseTruncatedLog(t *testing.T) {
	l := newLostStore(t, false)
	s := mustOpen(t, l.dir, core.Options{NoBackground: true, Sync: wal.SyncNone})
	f := l.f.reopened(s)
	for first := l.segments(t)[0]; l.segments(t)[0] == first; { // it is worth replacing from 1 MiB on
		f.mustFeed(200)
		mustClose(t, s.Checkpoint(t.Context()))
	}
	f.mustFeed(5)
	mustClose(t, s.Abandon())
	mustClose(t, os.Remove(filepath.Join(l.dir, "rondo.bolt")))
	for range 2 {
		if s, err := core.Open(l.dir, core.Options{}); !errors.Is(err, wal.ErrHole) {
			if err == nil {
				_ = s.Abandon()
			}
			t.Errorf("open without a database: %v, want %v", err, wal.ErrHole)
		}
	}
}

// TestTornTail cuts the log in its last commit, and writes rubbish behind it: only that commit
// goes, whole.
func TestTornTail(t *testing.T) {
	for _, cut := range []int64{1, 9, 100} {
		l := newLostStore(t, false)
		names := l.segments(t)
		last := names[len(names)-1]
		b, err := os.ReadFile(last)
		mustClose(t, err)
		end := int64(len(bytes.TrimRight(b, "\x00"))) // zeros are reserved ahead
		mustClose(t, os.Truncate(last, end-cut))
		s := mustOpen(t, l.dir, core.Options{NoBackground: true})
		f := l.f.reopened(s)
		f.tick--
		f.verify()
		if st := s.Stats(); st.LogTorn == 0 {
			t.Error("no torn bytes in Stats")
		}
		f.mustFeed(5)
		f.verify()
		mustClose(t, s.Abandon())
		s = mustOpen(t, l.dir, core.Options{NoBackground: true})
		f.reopened(s).verify()
		mustClose(t, s.Close())
	}
	l := newLostStore(t, false)
	names := l.segments(t)
	file, err := os.OpenFile(names[len(names)-1], os.O_WRONLY|os.O_APPEND, 0)
	mustClose(t, err)
	_, err = file.WriteString(strings.Repeat("rubbish", 1000))
	mustClose(t, errors.Join(err, file.Close()))
	l.whole(t)
}

// Damage before the tail is refused with segment and offset.
func TestDamagedLog(t *testing.T) {
	l := newLostStore(t, false)
	name := l.segments(t)[0]
	b, err := os.ReadFile(name)
	mustClose(t, err)
	at := len(bytes.TrimRight(b, "\x00")) * 3 / 4
	b[at] ^= 0x40
	mustClose(t, os.WriteFile(name, b, 0o644))
	for _, o := range []core.Options{{}, {ReadOnly: true}} {
		var damage *wal.CorruptError
		s, err := core.Open(l.dir, o)
		if !errors.As(err, &damage) {
			t.Fatalf("read-only %v: %v (%v)", o.ReadOnly, err, s)
		}
		if damage.Segment != 1 || damage.Offset > int64(at) || damage.Offset < int64(at)-1<<20 || !strings.Contains(err.Error(), "segment 1, offset ") {
			t.Errorf("read-only %v: %v, the damage is at %d", o.ReadOnly, err, at)
		}
	}
	b[at] ^= 0x40
	mustClose(t, os.WriteFile(name, b, 0o644))
	l.whole(t)
}

// TestCopyWhileOpen copies the folder of a store in use, in either order and in the midst of a
// checkpoint: what opens holds everything up to some moment of the copying, and else it is refused.
func TestCopyWhileOpen(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	f := newFeeder(t, s, 600)
	f.mustFeed(20)
	mustClose(t, s.Checkpoint(t.Context()))
	f.mustFeed(20)
	part := func(to, name string) {
		t.Helper()
		if name == "rondo.bolt" {
			copyFile(t, filepath.Join(dir, name), filepath.Join(to, name))
			return
		}
		mustClose(t, os.CopyFS(filepath.Join(to, name), os.DirFS(filepath.Join(dir, name))))
	}
	opens := func(what, to string, refusal bool, ticks ...int64) {
		t.Helper()
		c, err := core.Open(to, core.Options{NoBackground: true})
		if err != nil {
			if !refusal || !errors.Is(err, wal.ErrHole) {
				t.Errorf("%s: %v", what, err)
			}
			return
		}
		g := f.reopened(c)
		at, err := c.Last(f.refs[0])
		mustClose(t, err)
		if g.tick = at.Unix()/10 - programStart/10; !slices.Contains(ticks, g.tick) {
			t.Errorf("%s: %d ticks, want one of %v", what, g.tick, ticks)
		}
		g.verify()
		mustClose(t, c.Close())
	}
	a, b, c := t.TempDir(), t.TempDir(), t.TempDir()
	part(a, "rondo.bolt")
	f.mustFeed(10)
	part(a, "wal")
	opens("database first", a, false, 50)

	part(b, "wal")
	f.mustFeed(10)
	mustClose(t, s.Checkpoint(t.Context()))
	part(b, "rondo.bolt")
	// The last record may have been applied by the groups and not yet counted for the catalogue.
	opens("log first", b, true, 60)

	part(c, "wal")
	f.mustFeed(10)
	s.SetHook(func(name string) {
		if name == "checkpoint-groups" {
			part(c, "rondo.bolt")
		}
	})
	mustClose(t, s.Checkpoint(t.Context()))
	s.SetHook(nil)
	opens("log first, in a checkpoint", c, true)
	f.verify()
	mustClose(t, s.Close())
}
