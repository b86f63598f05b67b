package core_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/rra"
)

// damaged makes a store that has something in every bucket, and returns its folder, closed.
func damaged(t *testing.T) string {
	t.Helper()
	ctx := context.Background()
	dir := t.TempDir()
	s, err := core.Open(dir, core.Options{NoBackground: true, Reorder: 1e9})
	if err != nil {
		t.Fatal(err)
	}
	def := definition(t, "DS:a:GAUGE:20:U:U", "DS:b:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:100", "RRA:MAX:0.5:6:50")
	var refs []core.Ref
	for i := range 4 {
		refs = append(refs, mustCreate(t, s, fmt.Sprintf("h/%d", i), def,
			core.Label{Name: "host", Value: "h"}, core.Label{Name: "n", Value: fmt.Sprint(i)}))
	}
	other := definition(t, "DS:a:GAUGE:30:U:U", "DS:b:GAUGE:30:U:U", "RRA:AVERAGE:0.5:1:100", "RRA:MAX:0.5:6:50") // of the same class
	refs = append(refs, mustCreate(t, s, "h/other", other))
	if err := s.AddNote(ctx, "h", core.Note{Time: rra.Seconds(programStart), Severity: "okay", Text: "up"}); err != nil {
		t.Fatal(err)
	}
	if out, err := s.SetMetadata(ctx, []core.PathMetadata{{Path: "h/0", Metadata: core.Metadata{Text: "t"}}}); err != nil || out[0] != nil {
		t.Fatal(out, err)
	}
	for round := range int64(6) {
		var b core.Batch
		for i := range int64(60) {
			for j, ref := range refs {
				if j > 0 || round < 1 { // the first series falls silent: its rows lag
					b.Add(ref, rra.Seconds(programStart+10*(60*round+i+1)), rra.Float(float64(i)), rra.Float(0.5))
				}
			}
		}
		mustAppend(t, s, &b)
		if err := s.Checkpoint(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if ps, err := s.Check(ctx); err != nil || len(ps) > 0 {
		t.Fatalf("check of a whole store: %v, %v", ps, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sealed adds the checksum to a value, as docs/format.md has it.
func sealed(bucket string, k, v []byte) []byte {
	sum := crc32.Checksum(slices.Concat([]byte(bucket), []byte{0}, k, v), crc32.MakeTable(crc32.Castagnoli))
	return binary.LittleEndian.AppendUint32(v, sum)
}

// TestCheckFindsDamage damages one thing at a time.
func TestCheckFindsDamage(t *testing.T) {
	flip := func(at int) func(v []byte) []byte {
		return func(v []byte) []byte {
			v[(at+len(v))%len(v)] ^= 0x10
			return v
		}
	}
	first := func(bucket string, change func([]byte) []byte) func(*boltfile.Tx) error {
		return func(tx *boltfile.Tx) error {
			k, v := tx.Bucket([]byte(bucket)).Cursor().First()
			if k == nil {
				return fmt.Errorf("bucket %s is empty", bucket)
			}
			k, v = bytes.Clone(k), change(bytes.Clone(v))
			if v == nil {
				return tx.Bucket([]byte(bucket)).Delete(k)
			}
			return tx.Bucket([]byte(bucket)).Put(k, v)
		}
	}
	inside := func(bucket string, change func([]byte) []byte) func(*boltfile.Tx) error { // with the checksum that it then has
		return func(tx *boltfile.Tx) error {
			k, v := tx.Bucket([]byte(bucket)).Cursor().First()
			k, v = bytes.Clone(k), change(bytes.Clone(v[:len(v)-4]))
			return tx.Bucket([]byte(bucket)).Put(k, sealed(bucket, k, v))
		}
	}
	gone := func([]byte) []byte { return nil }
	put := func(bucket, key, value string) func(*boltfile.Tx) error {
		return func(tx *boltfile.Tx) error {
			return tx.Bucket([]byte(bucket)).Put([]byte(key), sealed(bucket, []byte(key), []byte(value)))
		}
	}
	row := "\x00\x00\x00\x01\x00\x00\x80\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00"
	whole := damaged(t)
	for _, tt := range []struct {
		name   string
		damage func(*boltfile.Tx) error
		want   string // of the problem's place
	}{
		{"name byte", first("names", flip(-1)), "names"},
		{"name removed", first("names", gone), "series"},
		{"name leads elsewhere", inside("names", flip(-1)), "names"},
		{"name cut", inside("names", func(v []byte) []byte { return v[:7] }), "names"},
		{"name that leads nowhere", put("names", "zz", "\x00\x00\x00\x01\x00\x00\x01\x00"), "names"},
		{"series record removed", first("series", gone), "names"},
		{"series record cut", inside("series", func(v []byte) []byte { return v[:len(v)-1] }), "series"},
		{"series with another label", inside("series", func(v []byte) []byte { return bytes.Replace(v, []byte("host"), []byte("hose"), 1) }), "labels"},
		{"series with another path", inside("series", func(v []byte) []byte { return bytes.Replace(v, []byte("h/0"), []byte("h/9"), 1) }), "names"},
		{"series of a definition that there is not", inside("series", func(v []byte) []byte { v[0] = 9; return v }), "series"},
		{"series of another definition", inside("series", func(v []byte) []byte { v[0] = 2; return v }), "state"},
		{"series nobody names", put("series", "\x00\x00\x00\x01\x00\x00\x00\x09", "\x01\x01x\x00"), "series"},
		{"posting removed", first("labels", gone), "labels"},
		{"posting of another series", inside("labels", func([]byte) []byte { return []byte{0, 1} }), "labels"},
		{"posting of a label that there is not", put("labels", "x\x00y\x00\x00\x00\x00\x01\x00\x00\x00\x00", "\x01"), "labels"},
		{"state byte", first("state", flip(40)), "state"},
		{"state cut", first("state", func(v []byte) []byte { return v[:len(v)/2] }), "state"},
		{"state removed", first("state", gone), "state"},
		{"state of no class", put("state", "\x00\x00\x00\x09\x00\x00\x00\x00", "x"), "state"},
		{"row byte", first("rows", flip(-9)), "rows"},
		{"row checksum", first("rows", flip(-1)), "rows"},
		{"row block removed", first("rows", gone), "rows"},
		{"row block nobody names", put("rows", row, "x"), "rows"},
		{"count", put("meta", "count", "\x00\x00\x00\x00\x00\x00\x00\x07"), "meta count"},
		{"definition byte", first("defs", flip(9)), "defs"},
		{"class byte", first("classes", flip(2)), "classes"},
		{"note byte", first("notes", flip(0)), "notes"},
		{"posting byte", first("labels", flip(0)), "labels"},
		{"count byte", func(tx *boltfile.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte("count"), make([]byte, 12)) }, "meta count"},
		{"definition", inside("defs", func(v []byte) []byte { return bytes.Replace(v, []byte("a"), []byte("z"), 1) }), "defs"},
		{"definition removed", first("defs", gone), "series"},
		{"class removed", first("classes", gone), "series"},
		{"definition nobody uses", put("defs", "\x00\x00\x00\x09", "x"), "defs"},
		{"class", inside("classes", func(v []byte) []byte { v[1] = 1; return v }), "class"},
		{"note", inside("notes", func(v []byte) []byte { return v[:len(v)-1] }), "notes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := core.Open(copyStore(t, whole), core.Options{NoBackground: true})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			if err := s.DB().Update(nil, tt.damage, nil); err != nil {
				t.Fatal(err)
			}
			ps, err := s.Check(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(ps, func(p core.Problem) bool { return strings.HasPrefix(p.Where, tt.want) }) {
				t.Errorf("check found %v, want a problem of %s", ps, tt.want)
			}
		})
	}
}
