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
	"github.com/rondo-db/rondo/internal/seeds"
)

// repaired damages a copy of the store in dir, repairs it, and compares what it answers before and
// after: what was readable stays so. It returns what Repair said, and the answers.
func repaired(t *testing.T, dir, what string, damage func(dir string)) (got core.Repaired, after answers, err error) {
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
		if len(got.Left) == 0 {
			t.Errorf("%s: repaired, and not opened: %v", what, err)
		}
		return got, nil, err
	}
	after = ask(s, until)
	for name, text := range before {
		missing := strings.HasSuffix(name, " metadata") && text == fmt.Sprint(core.Metadata{})
		if !strings.HasPrefix(text, "error: ") && !missing && after[name] != text {
			t.Errorf("%s: %s: %.300q, before the repair %.300q (%+v)", what, name, after[name], text, got)
		}
	}
	ps, err := s.Check(ctx)
	if err != nil || len(ps) != len(got.Left) {
		t.Errorf("%s: check: %v, %v; the repair said %v", what, ps, err, got.Left)
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

// Every kind of value is damaged in a bit and removed: the repair leaves nothing wrong but what it
// names.
func TestRepairOfValues(t *testing.T) {
	dir := zoo(t)
	whole := answersOf(t, dir)
	for _, bucket := range []string{"rows", "lag", "names", "series", "labels", "notes", "metadata", "state", "defs"} {
		for _, way := range []string{"flipped", "removed"} {
			got, after, err := repaired(t, dir, bucket+" "+way, func(dir string) {
				damageDB(t, dir, func(tx *bolt.Tx) error {
					b := tx.Bucket([]byte(bucket))
					keys := keysOf(b)
					if bucket != "state" && bucket != "rows" && bucket != "defs" { // the log has all of these
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
			case err != nil:
				t.Errorf("%s %s: %v", bucket, way, err)
			case bucket == "notes" && way == "removed": // nobody can know
			case len(got.Found) == 0 || got.Aside == "" || len(got.Done)+len(got.Lost)+len(got.Left) == 0:
				t.Errorf("%s %s: %+v", bucket, way, got)
			case len(got.Left) > 0:
				t.Errorf("%s %s: left: %v", bucket, way, got.Left)
			case bucket == "state" || bucket == "rows" || bucket == "lag" || bucket == "defs":
				if !maps.Equal(after, whole) {
					t.Errorf("%s %s: %s", bucket, way, whole.differs(after))
				}
				if len(got.Lost) > 0 || len(got.Done) == 0 {
					t.Errorf("%s %s: %+v", bucket, way, got)
				}
			}
		}
	}
	for _, key := range []string{"count", "groups", "metadata", "reorder", "log", "version", "catalogue"} {
		got, _, err := repaired(t, dir, key, func(dir string) {
			damageDB(t, dir, func(tx *bolt.Tx) error {
				v := bytes.Clone(tx.Bucket([]byte("meta")).Get([]byte(key)))
				v[0] ^= 1
				return tx.Bucket([]byte("meta")).Put([]byte(key), v)
			})
		})
		if err != nil || len(got.Left) > 0 {
			t.Errorf("%s: %+v, %v", key, got, err)
		}
	}
}

// Every page is zeroed and gets a damaged header, and random bytes are flipped: what was readable
// before the repair is so after it.
func TestRepairOfPages(t *testing.T) {
	dir := zoo(t)
	raw := readDatabase(t, dir)
	r := rand.New(rand.NewPCG(seeds.One(t), 2))
	const page = 4096
	tried, refused := 0, 0
	try := func(what string, damage func(b []byte)) {
		t.Helper()
		tried++
		if _, _, err := repaired(t, dir, what, func(dir string) {
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

// A database that is whole is left alone, and one that is in use is refused.
func TestRepairLeavesWhole(t *testing.T) {
	dir := zoo(t)
	got, err := core.Repair(context.Background(), dir, core.Options{Reorder: 25e9})
	if err != nil || got.Aside != "" || len(got.Found) > 0 {
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
