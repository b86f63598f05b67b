package core_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
)

// One flipped bit of a definition's number lost its series, although the definition was there.
// Thousands of empty definitions were written besides, or the repair was refused.
func TestRepairLostDefinitionWithDamagedNumber(t *testing.T) {
	x := newShortLog(t)
	mustClose(t, x.s.Abandon())
	for _, bit := range []uint32{1 << 4, 1 << 12, 1 << 30} {
		for at := range 5 {
			if lost := x.loses(func(b *bolt.Bucket, keys [][]byte) error {
				v := bytes.Clone(b.Get(keys[at]))
				mustClose(t, b.Delete(keys[at]))
				n := len(keysOf(b))
				mustClose(t, b.Put(binary.BigEndian.AppendUint32(nil, binary.BigEndian.Uint32(keys[at])^bit), v))
				if len(keysOf(b)) != n+1 {
					t.Fatal("the key is that of another definition")
				}
				return nil
			}); len(lost) > 0 {
				t.Errorf("definition %d, bit %#x: series %q are lost", at+1, bit, lost)
			}
		}
	}
}

// flipKey flips the last bit of the nth byte of a key where it stands in the database's file.
func flipKey(t *testing.T, dir, bucket string, key []byte, n int) {
	t.Helper()
	var entry []byte
	damageDB(t, dir, func(tx *bolt.Tx) error {
		entry = append(bytes.Clone(key), tx.Bucket([]byte(bucket)).Get(key)...)
		return nil
	})
	name := filepath.Join(dir, "rondo.bolt")
	file, err := os.ReadFile(name)
	mustClose(t, err)
	found := 0
	for from := 0; ; found++ {
		at := bytes.Index(file[from:], entry)
		if at < 0 {
			break
		}
		from += at + len(entry)
		file[from-len(entry)+n] ^= 1
	}
	if found == 0 {
		t.Fatal("the entry is not in the file")
	}
	mustClose(t, os.WriteFile(name, file, 0o600))
}

// A damaged key that was the key of another entry took its place: of the two entries the damaged
// one was kept, and the sound one was lost with it.
func TestRepairLostEntryWhoseKeyAnotherTook(t *testing.T) {
	x := newShortLog(t)
	ctx := context.Background()
	var backup bytes.Buffer // what is restored has a log without d and e, too
	mustClose(t, x.s.Checkpoint(ctx))
	mustClose(t, x.s.Backup(ctx, &backup))
	mustClose(t, x.s.Close())
	x.dir = filepath.Join(t.TempDir(), "restored")
	mustClose(t, core.Restore(&backup, x.dir))
	x.s = mustOpen(t, x.dir, core.Options{NoBackground: true})
	x.feed(5)
	want := x.tell(x.s)
	mustClose(t, x.s.Abandon())
	class := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	for _, c := range []struct {
		bucket string
		key    []byte // it becomes that of the entry behind it
		same   []string
	}{
		{"state", append(class(2), class(0)...), []string{"a", "b", "d", "e"}},
		{"defs", class(2), []string{"a", "b", "c", "d", "e"}},
	} {
		hurt := copyStore(t, x.dir)
		flipKey(t, hurt, c.bucket, c.key, 3)
		got, err := core.Repair(ctx, hurt, core.Options{})
		if err != nil || len(got.Left) > 0 || got.Aside == "" {
			t.Fatalf("%s: %+v, %v", c.bucket, got, err)
		}
		mustCheck(t, hurt)
		s := mustOpen(t, hurt, core.Options{NoBackground: true})
		have := x.tell(s)
		for _, path := range c.same {
			if have[path] != want[path] {
				t.Errorf("%s: %s: %.300s, want %.300s: %+v", c.bucket, path, have[path], want[path], got)
			}
		}
		mustClose(t, s.Close())
	}
}
