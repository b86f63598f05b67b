package core_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
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
	file := readDatabase(t, dir)
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

// An entry was lost if one bit of its key was flipped, although its checksum told the right key. If
// it was a class or the position of the log, the repair was refused.
func TestRepairLostEntryWithFlippedKey(t *testing.T) {
	x := newShortLog(t)
	ctx := context.Background()
	out, err := x.s.SetMetadata(ctx, []core.PathMetadata{{Path: "a", Metadata: core.Metadata{Time: rra.Seconds(programStart), Text: "x"}}})
	if err != nil || out[0] != nil {
		t.Fatal(out, err)
	}
	mustClose(t, x.s.AddNote(ctx, "a", core.Note{Text: "x"}))
	mustClose(t, x.s.Checkpoint(ctx))
	x.feed(5)
	want := x.tell(x.s)
	mustClose(t, x.s.Abandon())
	keys := make(map[string][][]byte)
	damageDB(t, x.dir, func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error { keys[string(name)] = keysOf(b); return nil })
	})
	tried := 0
	for bucket, list := range keys {
		for i := 0; i < len(list); i += max(len(list)/3, 1) {
			hurt := copyStore(t, x.dir)
			flipKey(t, hurt, bucket, list[i], len(list[i])/2)
			tried++
			got, err := core.Repair(ctx, hurt, core.Options{})
			if err != nil || len(got.Left) > 0 || got.Aside == "" {
				t.Errorf("%s %x: %+v, %v", bucket, list[i], got, err)
				continue
			}
			mustCheck(t, hurt)
			s := mustOpen(t, hurt, core.Options{NoBackground: true})
			have := x.tell(s)
			m, err := s.Metadata("a")
			notes, err2 := s.Notes(ctx, "a")
			if !maps.Equal(have, want) || err != nil || m.Text != "x" || err2 != nil || len(notes["a"]) != 1 {
				t.Errorf("%s %x: %.300v, want %.300v: metadata %+v, %v, notes %v, %v: %+v", bucket, list[i], have, want, m, err, notes, err2, got)
			}
			mustClose(t, s.Close())
		}
	}
	if tried < 20 {
		t.Errorf("%d keys were tried: %v", tried, keys)
	}
}
