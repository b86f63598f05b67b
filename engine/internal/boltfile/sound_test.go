package boltfile_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// TestSoundNearMany: many keys together find a damaged page if one of them alone does, and only
// then. Keys that share a leaf page share a walk.
func TestSoundNearMany(t *testing.T) {
	const page, entries, keys = 4096, 20_000, 100
	name := filepath.Join(t.TempDir(), "file")
	f, err := boltfile.Open(name, boltfile.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	bucket := []byte("values")
	key := func(i int) []byte { return fmt.Appendf(nil, "a key of some length %06d", i) }
	err = f.Update(nil, func(tx *boltfile.Tx) error {
		b, err := tx.MakeBucket(bucket)
		for i := 0; i < entries && err == nil; i++ {
			err = b.Put(key(2*i), key(i))
		}
		return err
	}, func(bool) {})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	st, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	near := func(keys ...[]byte) (bad bool) {
		err := f.View(nil, func(tx *boltfile.Tx) error {
			bad = tx.SoundNear(bucket, slices.Values(keys)) != nil
			return nil
		})
		if _, damaged := errors.AsType[*damage.Error](err); err != nil && !damaged {
			t.Fatal(err)
		}
		return bad || err != nil // bbolt meets the page of its buckets before
	}
	r := seedtest.Rand(t)
	tried := 0
	pages := st.Size()/page - 2 // behind the two of bbolt's heads
	for at := int64(0); at < pages || tried < 3 && at < 20*pages; at += 1 + r.Int64N(30) {
		id := 2 + at%pages
		var head [16]byte
		if _, err := file.ReadAt(head[:], id*page); err != nil {
			t.Fatal(err)
		}
		damaged := head
		binary.NativeEndian.PutUint64(damaged[:], 1<<40) // another page's
		if _, err := file.WriteAt(damaged[:], id*page); err != nil {
			t.Fatal(err)
		}
		var all, sound [][]byte
		for _, i := range sorted(r, keys, 2*entries+10) {
			all = append(all, key(i))
			if !near(key(i)) {
				sound = append(sound, key(i))
			}
		}
		if got, want := near(all...), len(sound) < len(all); got != want {
			t.Errorf("page %d: all keys find damage: %v, some key does: %v", id, got, want)
		}
		if len(sound) > 0 && near(sound...) {
			t.Errorf("page %d: keys that find no damage alone find some together", id)
		}
		if len(sound) < len(all) {
			tried++
		}
		if _, err := file.WriteAt(head[:], id*page); err != nil {
			t.Fatal(err)
		}
	}
	if tried < 3 {
		t.Errorf("%d damaged pages were near a key", tried)
	}
}

// sorted returns n numbers below end, in order, some of them next to each other.
func sorted(r *rand.Rand, n, end int) (list []int) {
	for len(list) < n {
		from := r.IntN(end)
		for i := range 1 + r.IntN(20) {
			list = append(list, min(from+i, end-1))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
