package core_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// repaired damages a copy of the store in dir, repairs it, and compares what it answers before and
// after: what was readable stays so, or is as whole, the answers of the store, has it. It returns
// what Repair said, and the answers.
func repaired(t *testing.T, dir string, whole answers, what string, damage func(dir string)) (got core.Repaired, after answers, err error) {
	t.Helper()
	ctx := context.Background()
	const until = programStart + 4800
	dir = copyStore(t, dir)
	defer func() { _ = os.RemoveAll(dir) }() // a folder that stays is the system's to clean
	damage(dir)
	before := make(answers)
	if s, err := core.Open(dir, core.Options{ReadOnly: true, Reorder: 25e9}); err == nil {
		before = ask(s, until)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	got, err = core.Repair(ctx, dir, core.Options{Reorder: 25e9})
	if err != nil {
		return got, nil, err
	}
	s, err := core.Open(dir, core.Options{NoBackground: true, Reorder: 25e9})
	if err != nil {
		t.Errorf("%s: repaired, and not opened: %v", what, err)
		return got, nil, err
	}
	after = ask(s, until)
	for name, text := range before {
		missing := strings.HasSuffix(name, " metadata") && text == fmt.Sprint(core.Metadata{})
		if !strings.HasPrefix(text, "error: ") && !missing && after[name] != text && after[name] != whole[name] {
			t.Errorf("%s: %s: %.300q, before the repair %.300q (%+v)", what, name, after[name], text, got)
		}
	}
	ps, err := s.Check(ctx)
	if err != nil || len(ps) > 0 {
		t.Errorf("%s: check: %v, %v", what, ps, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return got, after, nil
}

// keysOf are copies of the keys of a bucket.
func keysOf(b *bolt.Bucket) (keys [][]byte) {
	for c, k := b.Cursor(), []byte(nil); ; keys = append(keys, bytes.Clone(k)) {
		if len(keys) == 0 {
			k, _ = c.First()
		} else {
			k, _ = c.Next()
		}
		if k == nil {
			return keys
		}
	}
}

// answersOf is what an undamaged store answers.
func answersOf(t *testing.T, dir string) answers {
	t.Helper()
	s, err := core.Open(copyStore(t, dir), core.Options{NoBackground: true, Reorder: 25e9})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	return ask(s, programStart+4800)
}

// unnamed returns an answer that is not as it was, and that no line names; empty: there is none.
func unnamed(whole, after answers, lost []string) string {
	report := strings.Join(lost, "\n")
	for name, want := range whole {
		if after[name] == want {
			continue
		}
		path, _, _ := strings.Cut(name, " ")
		switch {
		case strings.Contains(report, fmt.Sprintf("%q", path)):
		case path == "list" || path == "select" || path == "label" || path == "notes" || strings.HasSuffix(name, " metadata"):
			if report == "" {
				return name
			}
		case (path == "late" || path == "h/renamed") && strings.Contains(report, "the log"): // the log alone has it
		default:
			return fmt.Sprintf("%s: %.300q, it was %.300q", name, after[name], want)
		}
	}
	return ""
}

// Every kind of value is damaged in a bit and removed, one and all: what is not as it was is named,
// and another repair finds nothing.
func TestRepairOfValues(t *testing.T) {
	dir := zoo(t)
	whole := answersOf(t, dir)
	for _, bucket := range []string{"rows", "names", "series", "labels", "notes", "metadata", "state", "defs", "classes"} {
		for _, way := range []string{"flipped", "removed"} {
			for _, all := range []bool{false, true} {
				what := fmt.Sprint(bucket, " ", way, ", all: ", all)
				got, after, err := repaired(t, dir, whole, what, func(dir string) {
					damageDB(t, dir, func(tx *bolt.Tx) error {
						b := tx.Bucket([]byte(bucket))
						keys := keysOf(b)
						if !all {
							keys = keys[:1]
						}
						for _, k := range keys {
							v := bytes.Clone(b.Get(k))
							v[len(v)/2] ^= 4
							err := b.Put(k, v)
							if way == "removed" {
								err = b.Delete(k)
							}
							if err != nil {
								return err
							}
						}
						return nil
					})
				})
				switch {
				case all && (bucket == "defs" || bucket == "classes") && errors.Is(err, core.ErrNothingReads):
				case err != nil:
					t.Errorf("%s: %v", what, err)
				case bucket == "notes" && way == "removed": // nobody can know
				case len(got.Found) == 0 || len(got.Aside) != 2:
					t.Errorf("%s: %+v", what, got)
				default:
					if name := unnamed(whole, after, got.Lost); name != "" {
						t.Errorf("%s: %s\n%s", what, name, strings.Join(got.Lost, "\n"))
					}
				}
				if t.Failed() {
					t.Fatalf("%s: %s", what, strings.Join(got.Lost, "\n"))
				}
			}
		}
	}
	for _, key := range []string{"count", "groups", "metadata", "reorder", "log", "version", "catalogue"} {
		got, after, err := repaired(t, dir, whole, key, func(dir string) {
			damageDB(t, dir, func(tx *bolt.Tx) error {
				v := bytes.Clone(tx.Bucket([]byte("meta")).Get([]byte(key)))
				v[0] ^= 1
				return tx.Bucket([]byte("meta")).Put([]byte(key), v)
			})
		})
		if err != nil {
			t.Errorf("%s: %+v, %v", key, got, err)
		} else if name := unnamed(whole, after, got.Lost); name != "" && key != "catalogue" && key != "reorder" {
			t.Errorf("%s: %s\n%s", key, name, strings.Join(got.Lost, "\n"))
		}
	}
}

// A repair that is killed between its renames is ended by the next one, and nothing is opened in
// between.
func TestRepairKilledBetweenRenames(t *testing.T) {
	dir := zoo(t)
	hurt := copyStore(t, dir)
	damageDB(t, hurt, func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("names"))
		return b.Delete(keysOf(b)[0])
	})
	whole := answersOf(t, dir)
	for killed := range 4 {
		at := copyStore(t, hurt)
		inside := filepath.Join(at, "repairing")
		if _, err := core.Salvage(t.Context(), hurt, inside, core.Options{Reorder: 25e9}); err != nil {
			t.Fatal(err)
		}
		steps := [][2]string{{"rondo.bolt", "rondo.bolt.damaged-1"}, {"wal", "wal.damaged-1"}, {"repairing/wal", "wal"}, {"repairing/rondo.bolt", "rondo.bolt"}}
		for _, step := range steps[:killed] {
			if err := os.Rename(filepath.Join(at, step[0]), filepath.Join(at, step[1])); err != nil {
				t.Fatal(err)
			}
		}
		if killed > 0 {
			if _, err := core.Open(at, core.Options{NoBackground: true}); !errors.Is(err, core.ErrRestoring) {
				t.Errorf("killed after %d renames: opened with %v", killed, err)
			}
		}
		if got, err := core.Repair(t.Context(), at, core.Options{Reorder: 25e9}); err != nil || got.Ended != (killed > 0) {
			t.Errorf("killed after %d renames: %+v, %v", killed, got, err)
		}
		if got := answersOf(t, at); !maps.Equal(got, whole) {
			t.Errorf("killed after %d renames: %s", killed, got.differs(whole))
		}
		if _, err := os.Stat(inside); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("killed after %d renames: %v", killed, err)
		}
	}
}

// A copy that was ended half way never takes the place of a database.
func TestRepairKilledWhileCopying(t *testing.T) {
	dir := zoo(t)
	mustClose(t, os.Mkdir(filepath.Join(dir, "copying"), 0o700))
	mustClose(t, os.Rename(filepath.Join(dir, "rondo.bolt"), filepath.Join(dir, "copying", "rondo.bolt")))
	if got, err := core.Repair(t.Context(), dir, core.Options{}); !errors.Is(err, os.ErrNotExist) || got.Ended {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "wal")); err != nil {
		t.Error(err)
	}
}

// Salvage changes nothing of the database that it reads, and fills an empty folder only.
func TestSalvageReadsOnly(t *testing.T) {
	dir := zoo(t)
	before := folderDigest(t, dir)
	to := filepath.Join(t.TempDir(), "new")
	got, err := core.Salvage(t.Context(), dir, to, core.Options{Reorder: 25e9})
	if err != nil || len(got.Lost) > 0 || got.Series != 9 {
		t.Errorf("%+v, %v", got, err)
	}
	if after := folderDigest(t, dir); strings.Join(after, "\n") != strings.Join(before, "\n") {
		t.Errorf("it changed the folder:\n%v, was\n%v", after, before)
	}
	if got, whole := answersOf(t, to), answersOf(t, dir); !maps.Equal(got, whole) {
		t.Error(got.differs(whole))
	}
	if _, err := core.Salvage(t.Context(), dir, to, core.Options{}); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("into a folder that is not empty: %v", err)
	}
}

// A log that is damaged is replayed up to the damage, and what came behind it is named.
func TestSalvageOfDamagedLog(t *testing.T) {
	l := newLostStore(t, false)
	name := l.segments(t)[0]
	b, err := os.ReadFile(name)
	mustClose(t, err)
	b[len(bytes.TrimRight(b, "\x00"))*3/4] ^= 0x40
	mustClose(t, os.WriteFile(name, b, 0o600))
	to := filepath.Join(t.TempDir(), "new")
	got, err := core.Salvage(t.Context(), l.dir, to, core.Options{})
	if err != nil || len(got.Lost) != 1 || !strings.HasPrefix(got.Lost[0], "the log behind position ") {
		t.Fatalf("%+v, %v", got, err)
	}
	s := mustOpen(t, to, core.Options{NoBackground: true})
	f := l.f.reopened(s)
	at, err := s.Last(f.refs[0])
	mustClose(t, err)
	if f.tick = at.Unix()/10 - programStart/10; f.tick < 40 || f.tick > 69 {
		t.Errorf("%d ticks are there", f.tick)
	}
	f.verify()
	mustClose(t, s.Close())
}

// Every page is zeroed and gets a damaged header, and random bytes are flipped: what was readable
// before the repair is so after it.
func TestRepairOfPages(t *testing.T) {
	dir := zoo(t)
	raw, whole := readDatabase(t, dir), answersOf(t, dir)
	r := rand.New(rand.NewPCG(seedtest.One(t), 2))
	const page = 4096
	tried, refused := 0, 0
	try := func(what string, damage func(b []byte)) {
		t.Helper()
		tried++
		if _, _, err := repaired(t, dir, whole, what, func(dir string) {
			b := bytes.Clone(raw)
			damage(b)
			if err := os.WriteFile(filepath.Join(dir, "rondo.bolt"), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}); err != nil {
			refused++
		}
	}
	for p := range len(raw) / page {
		try(fmt.Sprintf("page %d zeroed", p), func(b []byte) { clear(b[p*page : (p+1)*page]) })
		for _, at := range []int{0, 8, 10, 12} {
			try(fmt.Sprintf("byte %d of page %d", at, p), func(b []byte) { b[p*page+at] ^= 1 })
		}
	}
	for range 60 {
		at := r.IntN(len(raw))
		try(fmt.Sprintf("byte %d of page %d", at%page, at/page), func(b []byte) { b[at] ^= 1 << (at % 8) })
	}
	t.Logf("%d repairs, %d were refused", tried, refused)
	if refused > tried/5 {
		t.Errorf("%d of %d repairs were refused", refused, tried)
	}
}

// TestRepairOfNothing: a database that cannot be read at all, not even how many series it had,
// stays where it is. An empty one in its place would look as if nothing were wrong.
func TestRepairOfNothing(t *testing.T) {
	dir := zoo(t)
	raw := readDatabase(t, dir)
	const page = 4096
	clear(raw[2*page:])
	name := filepath.Join(dir, "rondo.bolt")
	if err := os.WriteFile(name, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := core.Repair(context.Background(), dir, core.Options{Reorder: 25e9})
	if !errors.Is(err, core.ErrNothingReads) || len(got.Aside) > 0 {
		t.Errorf("%+v, %v, want %v", got, err, core.ErrNothingReads)
	}
	if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, raw) {
		t.Errorf("the database has changed: %v", err)
	}
}

// A database that is whole is left alone, and one that is in use is refused.
func TestRepairLeavesWhole(t *testing.T) {
	dir := zoo(t)
	got, err := core.Repair(context.Background(), dir, core.Options{Reorder: 25e9})
	if err != nil || len(got.Aside) > 0 || len(got.Found) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
	s, err := core.Open(dir, core.Options{NoBackground: true, Reorder: 25e9})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := core.Repair(context.Background(), dir, core.Options{}); !errors.Is(err, core.ErrLocked) {
		t.Errorf("in use: %v", err)
	}
}
