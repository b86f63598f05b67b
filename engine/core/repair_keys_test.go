package core_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	bolt "go.etcd.io/bbolt"
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
