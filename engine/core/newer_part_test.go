package core_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
)

// filesOf reads all files of a folder but the locks.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() || strings.ToLower(info.Name()) == "lock" {
			return err
		}
		b, err := os.ReadFile(name)
		all[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What a newer version of rondo wrote in the log, or in the database beside what this version
// reads, is refused by Open, salvage and repair, and not one byte is changed. Salvage made a log
// without the segment, and repair states anew.
func TestNewerPart(t *testing.T) {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	segment := func(t *testing.T, l *lostStore) {
		name := l.segments(t)[0]
		b, err := os.ReadFile(name)
		mustClose(t, err)
		b[8] = 3
		binary.LittleEndian.PutUint32(b[124:], crc32.Checksum(b[:124], castagnoli))
		mustClose(t, os.WriteFile(name, b, 0o600))
	}
	mark := func(t *testing.T, l *lostStore) {
		name := filepath.Join(l.dir, "wal", "mark")
		b, err := os.ReadFile(name)
		mustClose(t, err)
		b[8] = 3
		binary.LittleEndian.PutUint32(b[68:], crc32.Checksum(b[:68], castagnoli))
		mustClose(t, os.WriteFile(name, b, 0o600))
	}
	// patch puts another version before each value of a bucket.
	patch := func(bucket string, version byte) func(t *testing.T, l *lostStore) {
		return func(t *testing.T, l *lostStore) {
			damageDB(t, l.dir, func(tx *bolt.Tx) error {
				b := tx.Bucket([]byte(bucket))
				for _, k := range keysOf(b) {
					v := bytes.Clone(b.Get(k))
					v = v[:len(v)-4]
					v[0] = version
					if err := b.Put(k, sealed(bucket, k, v)); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	pages := func(t *testing.T, l *lostStore) {
		name := filepath.Join(l.dir, "rondo.bolt")
		b, err := os.ReadFile(name)
		mustClose(t, err)
		size := int(binary.NativeEndian.Uint32(b[16+8:]))
		for _, at := range []int{16, size + 16} { // bbolt's meta pages
			binary.NativeEndian.PutUint32(b[at+4:], 3)
			sum := fnv.New64a()
			_, _ = sum.Write(b[at : at+56]) // never fails
			binary.NativeEndian.PutUint64(b[at+56:], sum.Sum64())
		}
		mustClose(t, os.WriteFile(name, b, 0o600))
	}
	flip := func(t *testing.T, l *lostStore) {
		damageDB(t, l.dir, func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Delete([]byte("count")) })
	}
	for name, x := range map[string]struct {
		change []func(t *testing.T, l *lostStore)
		opens  bool // Open does not look at what was changed
	}{
		"segment":                           {[]func(*testing.T, *lostStore){segment}, false},
		"mark":                              {[]func(*testing.T, *lostStore){mark}, false},
		"segment beside a damaged database": {[]func(*testing.T, *lostStore){segment, flip}, false},
		"pages":                             {[]func(*testing.T, *lostStore){pages}, false},
		"states":                            {[]func(*testing.T, *lostStore){patch("state", 9)}, true},
		"definitions":                       {[]func(*testing.T, *lostStore){patch("defs", 9)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLostStore(t, false)
			for _, change := range x.change {
				change(t, l)
			}
			before := filesOf(t, l.dir)
			if !x.opens {
				for _, readOnly := range []bool{false, true} {
					_, err := core.Open(l.dir, core.Options{NoBackground: true, ReadOnly: readOnly})
					if len(x.change) == 1 && (!errors.Is(err, core.ErrNewer) || !errors.Is(err, core.ErrVersion) || errors.Is(err, core.ErrDamaged)) {
						t.Errorf("open, read-only %v: %v, want ErrNewer and no damage", readOnly, err)
					}
				}
				if _, err := core.SalvageLog(t.Context(), l.dir, core.Options{}, true); !errors.Is(err, core.ErrNewer) && !errors.Is(err, core.ErrWhole) {
					t.Errorf("salvage: %v, want ErrNewer or that the log is whole", err)
				}
			}
			if got, err := core.Repair(t.Context(), l.dir, core.Options{}); !errors.Is(err, core.ErrNewer) || len(got.Aside) > 0 || got.Series > 0 {
				t.Errorf("repair: %+v, %v, want ErrNewer and nothing done", got, err)
			} else if n := strings.Count(err.Error(), "newer version of rondo"); n != 1 {
				t.Errorf("repair says %d times that a newer version wrote it: %v", n, err)
			}
			after := filesOf(t, l.dir)
			for name, b := range before {
				if after[name] != b {
					t.Errorf("%s was changed", name)
				}
			}
		})
	}
}

// A copy of a series that a newer node sends is distinguished from one that is damaged.
func TestCopyOfNewerVersion(t *testing.T) {
	for version, newer := range map[byte]bool{0: false, 1: false, 3: true, 255: true} {
		var c core.Copy
		err := c.UnmarshalBinary([]byte{version, 1, 'x'})
		if !errors.Is(err, core.ErrInvalid) || !errors.Is(err, core.ErrVersion) || errors.Is(err, core.ErrNewer) != newer {
			t.Errorf("version %d: %v", version, err)
		}
	}
}
