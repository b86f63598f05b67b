package core_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
)

// damages are copies of a store, each with one key of a bucket flipped or removed, or all of them.
func damages(t *testing.T, dir string, try func(what, hurt string)) {
	t.Helper()
	buckets := make(map[string][][]byte)
	damageDB(t, copyStore(t, dir), func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			buckets[string(name)] = keysOf(b)
			return nil
		})
	})
	for bucket, keys := range buckets {
		for i := -1; i < len(keys); i++ {
			if n := len(keys); i >= 3 && i < n-3 && i != n/2 { // of many the ends and the middle
				continue
			}
			which := keys
			if i >= 0 {
				which = keys[i : i+1]
			}
			for _, way := range []string{"flipped", "removed"} {
				hurt := copyStore(t, dir)
				damageDB(t, hurt, func(tx *bolt.Tx) error {
					b := tx.Bucket([]byte(bucket))
					for _, k := range which {
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
				what := fmt.Sprintf("%s, all, %s", bucket, way)
				if i >= 0 {
					what = fmt.Sprintf("%s, key %d of %d, %x, %s", bucket, i+1, len(keys), which, way)
				}
				try(what, hurt)
				_ = os.RemoveAll(hurt) // a folder that stays is the system's to clean
			}
		}
	}
}

// Every kind of value is damaged in a store whose log is whole: after the repair it answers as if
// nothing had happened, and a second repair finds nothing.
func TestRepairEqualsTwinWhereLogIsWhole(t *testing.T) {
	dir := zoo(t)
	whole := answersOf(t, dir)
	damages(t, dir, func(what, hurt string) {
		got, err := core.Repair(context.Background(), hurt, core.Options{Reorder: 25e9})
		switch {
		case strings.HasPrefix(what, "meta, all, ") && errors.Is(err, core.ErrDamaged):
			return // nothing proves that it is the log of the database
		case strings.HasPrefix(what, "notes") && len(got.Found) == 0:
			return // nobody counts them
		case err != nil || len(got.Left)+len(got.Lost) > 0:
			t.Errorf("%s: %+v, %v", what, got, err)
			return
		}
		if after := answersOf(t, hurt); !maps.Equal(after, whole) {
			t.Errorf("%s: %s\n%+v", what, whole.differs(after), got)
		}
		if again, err := core.Repair(context.Background(), hurt, core.Options{Reorder: 25e9}); err != nil || len(again.Found) > 0 || again.Aside != "" {
			t.Errorf("%s: a second repair: %+v, %v\n%+v", what, again, err, got)
		}
	})
}

// The same where the log begins in the middle: series that are not as they were are named.
func TestRepairNamesAllThatIsLost(t *testing.T) {
	x := newShortLog(t)
	ctx := context.Background()
	mustClose(t, x.s.Rename(ctx, "b", "bb"))
	mustClose(t, x.s.Abandon())
	twin := mustOpen(t, copyStore(t, x.dir), core.Options{NoBackground: true})
	want := x.tell(twin)
	mustClose(t, twin.Close())
	refused := 0 // there it would have to guess
	damages(t, x.dir, func(what, hurt string) {
		got, err := core.Repair(ctx, hurt, core.Options{})
		if (strings.HasPrefix(what, "meta") || strings.HasPrefix(what, "classes")) && errors.Is(err, core.ErrDamaged) {
			refused++
			if got.Aside != "" || slices.Contains(files(t, hurt), "rondo.bolt.repair") {
				t.Errorf("%s: refused, and something has changed: %+v", what, got)
			}
			return
		}
		if err != nil || len(got.Left) > 0 {
			t.Errorf("%s: %+v, %v", what, got, err)
			return
		}
		s := mustOpen(t, hurt, core.Options{NoBackground: true})
		have := x.tell(s)
		mustClose(t, s.Close())
		for path := range want {
			if have[path] != want[path] && !reported(got.Lost, path) {
				t.Errorf("%s: %s is not as it was, and nobody says so: %.300s, want %.300s\n%+v", what, path, have[path], want[path], got)
			}
		}
		mustCheck(t, hurt)
	})
	if refused == 0 {
		t.Error("a database without its log position is repaired: where did it come from?")
	}
}
