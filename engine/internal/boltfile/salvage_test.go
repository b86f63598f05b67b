package boltfile_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
)

// A gauge counts the bytes that are read of a file.
type gauge struct {
	io.ReaderAt
	read int64
}

func (g *gauge) ReadAt(b []byte, off int64) (int, error) {
	g.read += int64(len(b))
	return g.ReaderAt.ReadAt(b, off)
}

// found counts entries. An entry proves itself by a value that ends with its key.
type found map[string]bool

func (f found) BucketOf(_ string, k, v []byte) string {
	if bytes.HasSuffix(v, k) {
		return "values"
	}
	return ""
}

func (f found) Put(_ string, k, _ []byte) error {
	f[string(k)] = true
	return nil
}

func (found) Lose(string, ...any) {}

// TestSalvageReadsLittle: however much the pages of a file claim, Salvage reads a small multiple of
// its size.
func TestSalvageReadsLittle(t *testing.T) {
	const page, most = 4096, 12
	name := filepath.Join(t.TempDir(), "file")
	f, err := boltfile.Open(name, boltfile.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	const keys = 1000
	err = f.Update(nil, func(tx *boltfile.Tx) error {
		b, err := tx.MakeBucket([]byte("values"))
		for i := 0; i < keys && err == nil; i++ {
			k := fmt.Appendf(nil, "%06d", i)
			size := 500
			if i%100 == 0 {
				size = 50_000 // pages that have others behind them
			}
			err = b.Put(k, append(make([]byte, size), k...))
		}
		return err
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	e := binary.NativeEndian
	meta := sound // the newer of two: how many pages there are, and the transaction
	if e.Uint64(sound[page+64:]) > e.Uint64(sound[64:]) {
		meta = sound[page:]
	}
	pages := int(e.Uint64(meta[56:]))
	claims := func(p []byte, rest int) { // every element claims the rest of the file
		e.PutUint16(p[10:], 255)
		for i := range 255 {
			el := p[16+16*i:]
			e.PutUint32(el[4:], uint32(4096-16-16*i))
			e.PutUint32(el[8:], 6)
			e.PutUint32(el[12:], uint32(max(rest-page-6, 0)))
		}
	}
	for _, tt := range []struct {
		name   string
		damage func(p []byte, id, rest int)
		want   int // entries that are found at least
	}{
		{"nothing", func([]byte, int, int) {}, keys},
		{"one page", func(p []byte, id, rest int) {
			if id == 20 {
				claims(p, rest)
			}
		}, keys - 20},
		{"elements", func(p []byte, _, rest int) { claims(p, rest) }, 0},
		{"many elements", func(p []byte, _, rest int) {
			claims(p, rest)
			e.PutUint16(p[10:], 65535)
		}, 0},
		{"pages behind", func(p []byte, id, _ int) { e.PutUint32(p[12:], uint32(max(pages-id-1, 0))) }, keys / 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := bytes.Clone(sound)
			for id := 2; id < len(b)/page; id++ {
				if p := b[id*page:]; e.Uint64(p) == uint64(id) && e.Uint16(p[8:]) == 2 {
					tt.damage(p, id, len(p))
				}
			}
			g, got := &gauge{ReaderAt: bytes.NewReader(b)}, make(found)
			if err := boltfile.Salvage(g, int64(len(b)), got); err != nil {
				t.Fatal(err)
			}
			if g.read > most*int64(len(b)) {
				t.Errorf("%d bytes were read of a file of %d", g.read, len(b))
			}
			if len(got) < tt.want {
				t.Errorf("%d entries were found, want %d", len(got), tt.want)
			}
			t.Logf("%d bytes of %d, %d entries", g.read, len(b), len(got))
		})
	}
}
