package core_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// since makes a backup of what changed since another one, nil: of everything.
func since(t testing.TB, s *core.Store, base []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := s.BackupSince(context.Background(), &out, headOf(t, base)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func headOf(t testing.TB, backup []byte) *core.BackupHead {
	t.Helper()
	if backup == nil {
		return nil
	}
	head, err := core.ReadBackupHead(bytes.NewReader(backup))
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// backupFiles writes backups to files, and returns their names.
func backupFiles(t testing.TB, backups ...[]byte) (names []string) {
	t.Helper()
	dir := t.TempDir()
	for i, b := range backups {
		name := filepath.Join(dir, fmt.Sprint(i, ".zst"))
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// restoreChain opens what backups hold, in a new folder.
func restoreChain(t testing.TB, backups ...[]byte) *core.Store {
	t.Helper()
	dir, names := filepath.Join(t.TempDir(), "restored"), backupFiles(t, backups...)
	if _, err := core.VerifyBackups(t.Context(), names...); err != nil {
		t.Errorf("%d backups: %v", len(backups), err)
	}
	if err := core.RestoreFiles(dir, names...); err != nil {
		t.Fatal(err)
	}
	s := enginetest.OpenDir(t, dir, core.Options{NoBackground: true})
	if ps, err := s.Check(t.Context()); err != nil || len(ps) > 0 {
		t.Errorf("check of %d restored backups: %v %v", len(backups), ps, err)
	}
	return s
}

// sameStores compares all that is in two stores.
func sameStores(t *testing.T, what string, got, want *core.Store) {
	t.Helper()
	sameDigest(t, what, mustDigest(t, got), mustDigest(t, want))
	var a, b strings.Builder
	dump(t, &a, got)
	dump(t, &b, want)
	if a.String() != b.String() {
		t.Errorf("%s: %s", what, firstDifference(a.String(), b.String()))
	}
}

// TestIncrementsAgainstModel: a chain of backups, each of what changed since the one before,
// restores to what a backup of everything of the same moment holds, whatever the program does
// between them.
func TestIncrementsAgainstModel(t *testing.T) {
	seed := seedtest.One(t)
	increments := 0
	for i := range seedtest.Programs(3, 4) {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		m := &modelRun{program: &program{t: t, r: r}, ctx: context.Background(), dir: t.TempDir()}
		m.o = core.Options{NoBackground: r.IntN(2) == 0}
		for range 1 + r.IntN(4) {
			m.defs = append(m.defs, randomDefinition(t, r, false))
		}
		var err error
		m.s, err = core.Open(m.dir, m.o)
		m.must(err, "open")
		var chain [][]byte
		for n := 20 + r.IntN(120); n > 0 && m.cost() < 60_000; n-- {
			if m.op(); m.r.IntN(10) > 0 && n > 1 {
				continue
			}
			var base []byte
			if len(chain) > 0 {
				base = chain[len(chain)-1]
				increments++
			}
			chain = append(chain, since(t, m.s, base))
			m.note("backup %d", len(chain))
			if m.r.IntN(2) == 0 || n == 1 {
				got, want := restoreChain(t, chain...), restore(t, mustBackup(t, m.s))
				sameStores(t, fmt.Sprintf("program %d, %d backups", i, len(chain)), got, want)
				if t.Failed() {
					m.fatalf("see above")
				}
				live := m.s
				m.s = got
				m.compare(20)
				m.s = live
				mustClose(t, got.Close())
				mustClose(t, want.Close())
			}
		}
		m.must(m.s.Close(), "close")
	}
	if increments < 2 { // some programs are short
		t.Errorf("%d increments", increments)
	}
}

// TestIncrementUnderLoad makes base and increment while operations of every kind and checkpoints go
// on: groups then stand at later positions than the catalogue.
func TestIncrementUnderLoad(t *testing.T) {
	c := newCrashRun(t, seedtest.One(t))
	s := mustOpen(t, c.task.dir, core.Options{CheckpointBytes: 8 << 10})
	var chain [][]byte
	var last []byte
	for range 3 {
		made := make(chan []byte, 1)
		go func() {
			var out bytes.Buffer
			if err := s.BackupSince(context.Background(), &out, headOf(t, last)); err != nil {
				t.Error(err)
			}
			made <- out.Bytes()
		}()
		c.loadMore(s, 60)
		if last = <-made; t.Failed() {
			return
		}
		chain = append(chain, last)
	}
	chain = append(chain, since(t, s, last))
	sameStores(t, "restored", restoreChain(t, chain...), s)
	mustClose(t, s.Close())
}

// TestIncrementIsSmall: what has not changed is not in it, and a slow series costs no more than its
// group.
func TestIncrementIsSmall(t *testing.T) {
	s := enginetest.Open(t)
	f := newFeeder(t, s, 1500)
	f.mustFeed(400)
	// A shard that has yet to pass over the last record would make blocks newer than the base.
	mustClose(t, s.Checkpoint(t.Context()))
	base := mustBackup(t, s)
	none := since(t, s, base)
	var b core.Batch
	for i := range int64(9) {
		b.Add(f.refs[7], f.at()+rra.Seconds(10*(i+1)), rra.Int(i))
	}
	mustAppend(t, s, &b)
	one := since(t, s, none)
	whole := mustBackup(t, s)
	if len(none) > len(whole)/4 || len(one) > len(whole)/3 {
		t.Errorf("%d bytes where nothing changed, %d where a series did, %d of everything", len(none), len(one), len(whole))
	}
	rows := func(names ...string) int64 {
		got, err := core.VerifyBackups(t.Context(), names...)
		if err != nil {
			t.Fatal(err)
		}
		return got.Entries
	}
	all := backupFiles(t, base, none, one)
	catalogue := rows(all[:2]...) - rows(all[0])
	if n := rows(all...) - rows(all[:2]...) - catalogue; n < 1 || n > 20 {
		t.Errorf("%d entries of groups where one of 6 groups changed", n)
	}
	sameStores(t, "restored", restoreChain(t, base, none, one), s)
}

// TestSlotThatComesAgain: a dropped series takes its slots with it, and one that is made in its
// place writes blocks with the same keys.
func TestSlotThatComesAgain(t *testing.T) {
	s := enginetest.Open(t)
	f := newFeeder(t, s, 3)
	f.mustFeed(700)
	base := mustBackup(t, s)
	for i := range f.refs {
		mustClose(t, core.Drop(t.Context(), s, fmt.Sprint("host/", i)))
	}
	gone := since(t, s, base)
	sameStores(t, "nothing left", restoreChain(t, base, gone), s)
	g := newFeeder(t, s, 3)
	g.tick = 1
	g.mustFeed(699)
	again := since(t, s, base)
	sameStores(t, "made again", restoreChain(t, base, again), s)
	sameStores(t, "one by one", restoreChain(t, base, gone, since(t, s, gone)), s)
}

// TestIncrementsRefused: a chain with a gap, in a wrong order or of several databases restores
// nothing, and the error names the file.
func TestIncrementsRefused(t *testing.T) {
	s := enginetest.Open(t)
	f := newFeeder(t, s, 20)
	var chain [][]byte
	var last []byte
	for range 4 {
		f.mustFeed(30)
		last = since(t, s, last)
		chain = append(chain, last)
	}
	other := enginetest.Open(t)
	newFeeder(t, other, 3).mustFeed(9)
	foreign := mustBackup(t, other)
	foreign2 := since(t, other, foreign)
	all := backupFiles(t, append(chain, foreign, foreign2, mustBackup(t, s))...)
	for what, x := range map[string]struct {
		files []int
		named int // the file that the error names
		says  string
	}{
		"a gap":                 {[]int{0, 2}, 2, "since another backup"},
		"a gap in the midst":    {[]int{0, 1, 3}, 3, "since another backup"},
		"a wrong order":         {[]int{0, 2, 1, 3}, 2, "since another backup"},
		"one twice":             {[]int{0, 1, 1}, 1, "the same backup"},
		"the first is missing":  {[]int{1, 2}, 1, "must come before"},
		"only an increment":     {[]int{1}, 1, "must come before"},
		"another database":      {[]int{0, 1, 5}, 5, "another database"},
		"on another database":   {[]int{4, 1}, 1, "another database"},
		"a whole one last":      {[]int{0, 1, 6}, 6, "comes first"},
		"on a later whole one":  {[]int{6, 1}, 1, "since another backup"},
		"a whole one, reversed": {[]int{1, 0}, 1, "must come before"},
	} {
		var names []string
		for _, i := range x.files {
			names = append(names, all[i])
		}
		dir := filepath.Join(t.TempDir(), "restored")
		err := core.RestoreFiles(dir, names...)
		_, err2 := core.VerifyBackups(t.Context(), names...)
		for _, err := range []error{err, err2} {
			if !errors.Is(err, core.ErrBase) || !strings.Contains(err.Error(), all[x.named]) || !strings.Contains(err.Error(), x.says) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the folder is still there: %v", what, err)
		}
	}
	if _, err := core.VerifyBackup(t.Context(), bytes.NewReader(chain[1])); !errors.Is(err, core.ErrBase) {
		t.Errorf("an increment alone: %v", err)
	}
	if err := core.RestoreFiles(filepath.Join(t.TempDir(), "x"), all[0], filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is missing: %v", err)
	}
	if err := core.RestoreFiles(filepath.Join(t.TempDir(), "x")); err == nil {
		t.Error("no file was restored")
	}
}

// TestBaseRefused: a backup is no base once the database was restored, repaired or salvaged, or is
// older than the backup.
func TestBaseRefused(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	f := newFeeder(t, s, 20)
	f.mustFeed(30)
	mustClose(t, s.Checkpoint(t.Context()))
	old := copyStore(t, dir)
	f.mustFeed(30)
	base := mustBackup(t, s)
	refuses := func(what, dir string) {
		t.Helper()
		s := mustOpen(t, dir, core.Options{NoBackground: true})
		var out bytes.Buffer
		if err := s.BackupSince(t.Context(), &out, headOf(t, base)); !errors.Is(err, core.ErrBase) {
			t.Errorf("%s: %v", what, err)
		}
		mustClose(t, s.Close())
	}
	mustClose(t, s.Close())
	restored := filepath.Join(t.TempDir(), "r")
	mustClose(t, core.Restore(bytes.NewReader(base), restored))
	refuses("a restored database", restored)
	refuses("an older copy", old)

	cut := copyStore(t, dir)
	s = mustOpen(t, cut, core.Options{NoBackground: true})
	mustClose(t, s.Checkpoint(t.Context())) // all of the log, or the database is not salvaged without it
	mustClose(t, s.Close())
	mustClose(t, os.RemoveAll(filepath.Join(cut, "wal")))
	if _, err := core.SalvageLog(t.Context(), cut, core.Options{}, true); err != nil {
		t.Fatal(err)
	}
	refuses("a salvaged database", cut)

	hurt := copyStore(t, dir)
	damageDB(t, hurt, func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("labels"))
		return b.Delete(keysOf(b)[0])
	})
	if got, err := core.Repair(t.Context(), hurt, core.Options{}); err != nil || len(got.Aside) == 0 {
		t.Fatal(got, err)
	}
	refuses("a repaired database", hurt)

	s = mustOpen(t, dir, core.Options{NoBackground: true}) // and the one that it was made of takes it
	f.reopened(s).mustFeed(3)
	sameStores(t, "opened again", restoreChain(t, base, since(t, s, base)), s)
	mustClose(t, s.Close())
}
