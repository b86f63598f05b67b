package core_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// restore opens what a backup holds, in a new folder.
func restore(t testing.TB, backup []byte) *core.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "above", "restored")
	got, err := core.VerifyBackup(t.Context(), bytes.NewReader(backup))
	if err != nil {
		t.Errorf("a backup that Restore takes: %v after %+v", err, got)
	}
	if err := core.Restore(bytes.NewReader(backup), dir); err != nil {
		t.Fatal(err)
	}
	return enginetest.OpenDir(t, dir, core.Options{NoBackground: true})
}

func mustBackup(t testing.TB, s *core.Store) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := s.Backup(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestBackupAtRest(t *testing.T) {
	dir := t.TempDir()
	s := enginetest.OpenDir(t, dir, core.Options{NoBackground: true})
	empty := restore(t, mustBackup(t, s))
	if n := empty.Stats().Series; n != 0 {
		t.Errorf("%d series in a restored empty store", n)
	}
	f := newFeeder(t, s, 600)
	f.mustFeed(500)
	mustClose(t, s.Checkpoint(t.Context()))
	f.mustFeed(20)
	if err := s.AddNote(t.Context(), "host", core.Note{Text: "a note"}); err != nil {
		t.Fatal(err)
	}
	want := mustDigest(t, s)
	r := restore(t, mustBackup(t, s))
	sameDigest(t, "restored", mustDigest(t, r), want)
	g := f.reopened(r)
	g.verify()
	g.mustFeed(5)
	g.verify()
	if notes, err := r.Notes(t.Context(), "host"); err != nil || len(notes["host"]) != 1 {
		t.Errorf("restored notes: %v %v", notes, err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*spool*")); len(names) > 0 {
		t.Errorf("the backup left %v", names)
	}
	again := restore(t, mustBackup(t, r)) // of a restored store
	sameDigest(t, "restored twice", mustDigest(t, again), mustDigest(t, r))
	if err := core.Restore(bytes.NewReader(mustBackup(t, s)), dir); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("restore over a store: %v", err)
	}
	f.verify()
}

// TestBackupReadOnly backs up a store that was not closed, from a read-only opening.
func TestBackupReadOnly(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	f := newFeeder(t, s, 300)
	f.mustFeed(100)
	mustClose(t, s.Checkpoint(t.Context()))
	f.mustFeed(20)
	want := mustDigest(t, s)
	mustClose(t, s.Abandon())
	s = mustOpen(t, dir, core.Options{ReadOnly: true})
	backup := mustBackup(t, s)
	mustClose(t, s.Close())
	r := restore(t, backup)
	sameDigest(t, "restored", mustDigest(t, r), want)
	f.reopened(r).verify()
}

// TestBackupUnderLoad backs up while operations of every kind and checkpoints go on. The restored
// store holds what was acknowledged before the call, and of what came after it a whole beginning.
func TestBackupUnderLoad(t *testing.T) {
	seed := seedtest.One(t)
	c := newCrashRun(t, seed)
	s := mustOpen(t, c.task.dir, core.Options{CheckpointBytes: 8 << 10})
	for range seedtest.Often(1, 2) {
		var wg sync.WaitGroup
		var backup []byte
		var acked [crashAppenders]int
		ready := make(chan struct{}, crashAppenders)
		for i, m := range c.apps {
			wg.Go(func() {
				a := newCrashAppender(s, seed, i, m.n)
				from := m.n
				a.depth = 3
				a.begin = func(n int) { m.begun = n + 1 }
				a.done = func(n int) {
					if n == from+10 {
						acked[i] = n + 1
						ready <- struct{}{}
					}
				}
				for range 40 {
					if err := a.step(); err != nil {
						t.Error(err)
						return
					}
				}
				if err := a.wait(0); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Go(func() {
			for range crashAppenders {
				<-ready
			}
			backup = mustBackup(t, s)
		})
		wg.Wait()
		if t.Failed() {
			return
		}
		var begun [crashAppenders]int
		for i, m := range c.apps {
			m.acked, begun[i] = acked[i], m.begun
		}
		r := restore(t, backup)
		c.compare(r)
		mustClose(t, r.Checkpoint(t.Context()))
		c.compare(r)
		for i, m := range c.apps {
			for m.n < begun[i] {
				m.do()
			}
		}
		c.compare(s)
	}
	mustClose(t, s.Close())
}

// TestBackupSlowReader stops reading in the midst of a backup: appends and checkpoints go on, no
// transaction stays open, and the log is kept.
func TestBackupSlowReader(t *testing.T) {
	s := enginetest.Open(t)
	f := newFeeder(t, s, 1500)
	f.mustFeed(200)
	pr, pw := io.Pipe()
	failed := make(chan error, 1)
	go func() {
		err := s.Backup(context.Background(), pw)
		_ = pw.CloseWithError(err)
		failed <- err
	}()
	var backup bytes.Buffer
	for i := range 6 {
		if _, err := io.CopyN(&backup, pr, int64(1+i*3000)); err != nil {
			t.Fatal(err)
		}
		f.mustFeed(10)
		mustClose(t, s.Checkpoint(t.Context()))
		if n := s.Readers(); n != 0 {
			t.Errorf("%d transactions are open while the reader sleeps", n)
		}
	}
	if _, err := io.Copy(&backup, pr); err != nil {
		t.Fatal(err)
	}
	mustClose(t, <-failed)
	g := f.reopened(restore(t, backup.Bytes()))
	at, err := g.s.Last(g.refs[0])
	if g.tick = at.Unix()/10 - programStart/10; err != nil || g.tick < 200 {
		t.Fatalf("%d ticks restored, %v", g.tick, err)
	}
	g.verify()
	f.verify()
}

// A reader that goes away ends the backup, and the log is cut again.
func TestBackupReaderGone(t *testing.T) {
	dir := t.TempDir()
	s := enginetest.OpenDir(t, dir, core.Options{})
	f := newFeeder(t, s, 1500)
	f.mustFeed(100)
	for _, n := range []int64{0, 1, 5000} {
		pr, pw := io.Pipe()
		failed := make(chan error, 1)
		go func() { failed <- s.Backup(context.Background(), pw) }()
		if _, err := io.CopyN(io.Discard, pr, n); err != nil {
			t.Fatal(err)
		}
		gone := errors.New("gone")
		_ = pr.CloseWithError(gone)
		if err := <-failed; !errors.Is(err, gone) {
			t.Errorf("backup to a reader that is gone after %d bytes: %v", n, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Backup(ctx, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled backup: %v", err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*spool*")); len(names) > 0 {
		t.Errorf("the backups left %v", names)
	}
	f.mustFeed(20)
	f.verify()
}

// TestDamagedBackup cuts and flips: an error, and nothing left behind.
func TestDamagedBackup(t *testing.T) {
	s := enginetest.Open(t)
	f := newFeeder(t, s, 20)
	f.mustFeed(100)
	want := mustDigest(t, s)
	whole := mustBackup(t, s)
	r := rand.New(rand.NewPCG(seedtest.One(t), 5))
	refused := func(what string, b []byte) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "restored")
		err := core.Restore(bytes.NewReader(b), dir)
		if _, e := core.VerifyBackup(t.Context(), bytes.NewReader(b)); (e == nil) != (err == nil) {
			t.Errorf("%s: VerifyBackup says %v, Restore %v", what, e, err)
		}
		if err == nil {
			s := mustOpen(t, dir, core.Options{NoBackground: true}) // a byte that does not matter
			sameDigest(t, what, mustDigest(t, s), want)
			mustClose(t, s.Close())
			return
		}
		if !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v does not name the folder", what, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the folder is still there: %v", what, err)
		}
	}
	for range 12 {
		n := r.IntN(len(whole))
		refused("truncated", whole[:n])
		if err := core.Restore(bytes.NewReader(whole[:n]), t.TempDir()); err == nil {
			t.Errorf("a backup of %d bytes cut to %d was restored", len(whole), n)
		}
		b := bytes.Clone(whole)
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		refused("flipped", b)
	}
	for n := 1; n <= 12; n++ { // the end of the frame
		if err := core.Restore(bytes.NewReader(whole[:len(whole)-n]), t.TempDir()); err == nil {
			t.Errorf("a backup without its last %d bytes was restored", n)
		}
	}
	refused("empty", nil)
	refused("text", []byte("no backup at all"))
	// A content that is whole but for one byte, in a frame that is whole.
	plain := decompress(t, whole)
	for range 8 {
		b := bytes.Clone(plain)
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		if err := core.Restore(bytes.NewReader(compress(t, b)), t.TempDir()); err == nil {
			t.Error("a backup with a flipped bit was restored")
		}
		if _, err := core.VerifyBackup(t.Context(), bytes.NewReader(compress(t, b))); err == nil {
			t.Error("a backup with a flipped bit was found right")
		}
	}
	if err := core.Restore(bytes.NewReader(compress(t, append(plain, 1))), t.TempDir()); err == nil {
		t.Error("a backup with a byte behind its end was restored")
	}
}

// TestVerifyBackup: the content is counted, and a flipped bit is found that Restore takes over,
// because the backup was made of a damaged entry.
func TestVerifyBackup(t *testing.T) {
	s := enginetest.Open(t)
	f := newFeeder(t, s, 20)
	f.mustFeed(100)
	mustClose(t, s.Checkpoint(t.Context()))
	f.mustFeed(3)
	whole := mustBackup(t, s)
	got, err := core.VerifyBackup(t.Context(), bytes.NewReader(whole))
	if err != nil || got.Entries <= 20 || got.Bytes < int64(len(whole)) {
		t.Errorf("%+v, %v", got, err)
	}
	plain := decompress(t, whole)
	at := bytes.Index(plain, []byte("\x04rows\x14")) + 6 + 20 + 2 + 10 // into a block
	plain[at] ^= 1
	sum := crc32.Checksum(plain[:len(plain)-5], crc32.MakeTable(crc32.Castagnoli))
	binary.LittleEndian.PutUint32(plain[len(plain)-4:], sum)
	damaged := compress(t, plain)
	if _, err := core.VerifyBackup(t.Context(), bytes.NewReader(damaged)); !errors.Is(err, core.ErrDamaged) {
		t.Errorf("a damaged block of rows: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := core.VerifyBackup(ctx, bytes.NewReader(whole)); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

func decompress(t testing.TB, b []byte) []byte {
	t.Helper()
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	out, err := z.DecodeAll(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func compress(t testing.TB, b []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(b, nil)
}

// TestHalfRestored is what a process leaves that is killed in the midst of Restore: Open refuses
// it, and says what to do; restoring again works.
func TestHalfRestored(t *testing.T) {
	s := enginetest.Open(t)
	f := newFeeder(t, s, 20)
	f.mustFeed(10)
	whole := mustBackup(t, s)
	for _, moved := range []bool{false, true} {
		dir, to := filepath.Join(t.TempDir(), "made"), t.TempDir()
		last := &lastRead{r: bytes.NewReader(whole), at: func() {
			if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
		}}
		if err := core.Restore(last, dir); err != nil {
			t.Fatal(err)
		}
		if moved { // the log's place is taken first
			if err := os.Mkdir(filepath.Join(to, "wal"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for name, open := range map[string]func() error{
			"open":          func() error { _, err := core.Open(to, core.Options{}); return err },
			"open for read": func() error { _, err := core.Open(to, core.Options{ReadOnly: true}); return err },
			"repair":        func() error { _, err := core.Repair(t.Context(), to, core.Options{}); return err },
			"salvage":       func() error { _, err := core.SalvageLog(t.Context(), to, core.Options{}, true); return err },
		} {
			if err := open(); !errors.Is(err, core.ErrRestoring) || !strings.Contains(err.Error(), "do it again") {
				t.Errorf("%s of a store that was restored in part: %v", name, err)
			}
		}
		if err := core.Restore(bytes.NewReader(whole), to); err != nil {
			t.Fatal(err)
		}
		r := mustOpen(t, to, core.Options{NoBackground: true})
		f.reopened(r).verify()
		mustClose(t, r.Close())
		if entries, err := os.ReadDir(to); err != nil || len(entries) != 3 {
			t.Errorf("in the folder: %v %v", entries, err)
		}
	}
}

// TestFilesOfOthersStay opens a store in a folder with files named as a backup might be, one that a
// killed backup has left, and a name that would be a pattern.
func TestFilesOfOthersStay(t *testing.T) {
	above := t.TempDir()
	mustClose(t, mustOpen(t, filepath.Join(above, "x[12]"), core.Options{}).Close()) // none is made among files of others
	theirs := []string{"x[12]/backup-monday", "x1/backup-tuesday", "x2/rondo.spool"}
	for _, name := range append(theirs, "x[12]/rondo.spool") {
		if err := os.MkdirAll(filepath.Join(above, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(above, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := mustOpen(t, filepath.Join(above, "x[12]"), core.Options{})
	mustClose(t, s.Close())
	for _, name := range theirs {
		if _, err := os.Stat(filepath.Join(above, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(above, "x[12]/rondo.spool")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a killed backup left is still there: %v", err)
	}
}

// TestModes looks at the modes of all that a store makes: nobody else reads them, whatever the
// umask. A folder that is there keeps its mode.
func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	newFeeder(t, s, 3).mustFeed(3)
	whole := mustBackup(t, s)
	if err := core.Restore(bytes.NewReader(whole), filepath.Join(dir, "copy")); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := filepath.WalkDir(filepath.Dir(dir), func(name string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := e.Info()
		want := os.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if err == nil && st.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", name, st.Mode().Perm(), want)
		}
		seen++
		return err
	})
	if err != nil || seen < 10 {
		t.Errorf("%d files: %v", seen, err)
	}
	mustClose(t, s.Close())
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	mustClose(t, mustOpen(t, dir, core.Options{}).Close())
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("the folder's mode was changed: %v %v", st.Mode(), err)
	}
}

// A lastRead calls at when everything was read.
type lastRead struct {
	r  io.Reader
	at func()
}

func (l *lastRead) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if err == io.EOF && l.at != nil {
		l.at()
		l.at = nil
	}
	return n, err
}

// FuzzRestore: no panic, bounded memory, and what is restored opens and passes Check.
func FuzzRestore(f *testing.F) {
	s := enginetest.Open(f)
	ref := mustCreate(f, s, "a", definition(f, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"))
	var b core.Batch
	b.Add(ref, rra.Seconds(programStart+10), rra.Float(1))
	mustAppend(f, s, &b)
	whole := mustBackup(f, s)
	f.Add(whole)                                  // a backup
	f.Add(whole[:len(whole)/2])                   // half of one
	f.Add(decompress(f, whole))                   // its content: compressed by the target
	f.Add([]byte("rondo backup 2\n\x02\x00\x00")) // record 0
	f.Add([]byte("rondo backup 2\n\x01\x04meta\x07version\xff\xff\xff\x7f"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if bytes.HasPrefix(in, []byte("rondo backup")) {
			in = compress(t, in)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		dir := filepath.Join(t.TempDir(), "r")
		err := core.Restore(bytes.NewReader(in), dir)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20+uint64(len(in))<<12 {
			t.Errorf("%d bytes for an input of %d", n, len(in))
		}
		looksRestored(t, dir, err)
	})
}

// looksRestored compares a folder with the error of restoring into it.
func looksRestored(t *testing.T, dir string, err error) {
	t.Helper()
	if err != nil {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder is still there: %v", err)
		}
		return
	}
	s, err := core.Open(dir, core.Options{NoBackground: true})
	if err != nil {
		return // a checksum is no signature
	}
	if _, err := s.Check(context.Background()); err != nil {
		t.Error(err)
	}
	mustClose(t, s.Close())
}
