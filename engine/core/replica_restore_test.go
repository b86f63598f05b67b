package core_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// TestTruncatedFollowerTakesItsPlaceFromABackup truncates the log behind a follower that was away:
// it is halted, and read as it was. A backup of another follower gives it its place back, and so
// does a backup of the leader.
func TestTruncatedFollowerTakesItsPlaceFromABackup(t *testing.T) {
	log := waltest.NewStream(1)
	o := shared(core.Options{NoBackground: true}, log)
	dir := t.TempDir()
	a, b, c := mustOpen(t, t.TempDir(), o), mustOpen(t, t.TempDir(), o), mustOpen(t, dir, o)
	mustPromote(t, a)
	f := newFeeder(t, a, 40)
	f.mustFeed(10)
	await(t, c, log)
	mustClose(t, c.Checkpoint(t.Context()))
	was, at := mustDigest(t, c), c.Position()
	mustClose(t, c.Close())
	f.mustFeed(10)
	mustClose(t, a.Checkpoint(t.Context()))
	if log.Reader().Last() != a.Position() || a.Checkpointed() != a.Position() {
		t.Fatalf("checkpoint at %d of %d", a.Checkpointed(), a.Position())
	}
	await(t, b, log)
	mustClose(t, b.Checkpoint(t.Context()))
	f.mustFeed(2)
	await(t, b, log)
	c = mustOpen(t, dir, o)
	await(t, c, log) // no checkpoint truncates
	mustClose(t, c.Abandon())
	mustClose(t, a.Truncate(b.Checkpointed()))
	c = mustOpen(t, dir, o)
	if st := awaitRole(t, c, core.Halted); !errors.Is(st.Err, wal.ErrTruncated) || st.Position != at {
		t.Errorf("the log no longer reaches back: %+v, want position %d", st, at)
	}
	sameDigest(t, "halted", mustDigest(t, c), was)
	if err := c.WaitFor(t.Context(), at+1); !errors.Is(err, wal.ErrTruncated) {
		t.Errorf("wait of a halted store: %v", err)
	}
	if err := c.Promote(t.Context()); !errors.Is(err, wal.ErrTruncated) || c.Role() == core.Leader {
		t.Errorf("promote a halted store: %v, it is %v", err, c.Role())
	}
	mustClose(t, c.Close())
	for _, from := range []*core.Store{b, a} {
		var backup bytes.Buffer
		mustClose(t, from.Backup(t.Context(), &backup))
		f.mustFeed(3)
		restored := filepath.Join(t.TempDir(), "restored")
		mustClose(t, core.RestoreReplica(bytes.NewReader(backup.Bytes()), restored))
		c = mustOpen(t, restored, o)
		await(t, c, log)
		same(t, "restored", c, a)
		mustPromote(t, c)
		mustClose(t, a.Demote(t.Context()))
		f = f.reopened(c)
		f.mustFeed(3)
		await(t, a, log)
		same(t, "after the restored store led", a, c)
		mustPromote(t, a)
		f = f.reopened(a)
		mustClose(t, c.Close())
		// The same backup is a database of its own, too.
		alone := filepath.Join(t.TempDir(), "alone")
		mustClose(t, core.Restore(&backup, alone))
		s := mustOpen(t, alone, core.Options{})
		g := f.reopened(s)
		g.tick -= 6
		g.verify()
		g.mustFeed(3)
		mustClose(t, s.Close())
	}
	mustClose(t, a.Close())
	mustClose(t, b.Close())
}

// TestFolderOfAnotherLog opens a database with a log that it is not of: it is refused, or halted.
func TestFolderOfAnotherLog(t *testing.T) {
	log, dir := waltest.NewStream(1), t.TempDir()
	o := core.Options{NoBackground: true}
	s := mustOpen(t, dir, shared(o, log))
	mustPromote(t, s)
	newFeeder(t, s, 3).mustFeed(3)
	mustClose(t, s.Checkpoint(t.Context())) // before it, the folder holds nothing of any log
	var backup bytes.Buffer
	mustClose(t, s.Backup(t.Context(), &backup))
	mustClose(t, s.Close())
	refused := func(what, dir string, o core.Options, want error) {
		t.Helper()
		if s, err := core.Open(dir, o); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", what, err, want)
			if err == nil {
				mustClose(t, s.Close())
			}
		}
	}
	refused("a replica as a database of its own", dir, o, core.ErrInvalid)
	hurt := filepath.Join(t.TempDir(), "hurt")
	mustClose(t, os.CopyFS(hurt, os.DirFS(dir)))
	damageDB(t, hurt, func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte("defs")) })
	if got, err := core.Repair(t.Context(), hurt, o); !errors.Is(err, core.ErrInvalid) || len(got.Aside) > 0 {
		t.Errorf("a damaged replica repaired as a database of its own: %+v, %v", got, err)
	}
	refused("to write another log", dir, onStream(o, waltest.NewStream(2)), core.ErrOtherLog)
	s = mustOpen(t, dir, shared(o, waltest.NewStream(2)))
	if st := awaitRole(t, s, core.Halted); !errors.Is(st.Err, core.ErrOtherLog) || !strings.Contains(st.Err.Error(), "the database is of the log "+st.Log.String()) {
		t.Errorf("to follow another log: %+v", st)
	}
	mustClose(t, s.Close())
	alone := filepath.Join(t.TempDir(), "alone")
	mustClose(t, core.Restore(&backup, alone))
	refused("a database of its own as a replica", alone, shared(o, log), core.ErrInvalid)
	s = mustOpen(t, alone, o)
	mustClose(t, s.Checkpoint(t.Context()))
	backup.Reset()
	mustClose(t, s.Backup(t.Context(), &backup))
	want := mustDigest(t, s)
	mustClose(t, s.Close())
	moved := filepath.Join(t.TempDir(), "moved")
	mustClose(t, core.RestoreReplica(&backup, moved))
	s = mustOpen(t, moved, shared(o, waltest.NewStream(3))) // a new log, which begins behind
	mustPromote(t, s)
	sameDigest(t, "moved to a log elsewhere", mustDigest(t, s), want)
	mustClose(t, s.Close())
}
