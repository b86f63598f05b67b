package backup

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/rondo-db/rondo/engine/internal/labelindex"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// pageVersion is the version of the database in the example of docs/format.md.
const pageVersion = 8

// pageIncrement returns the bytes of the example.
func pageIncrement(t *testing.T) []byte {
	page, err := os.ReadFile("../../../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "<!-- example: increment -->\n\n")
	text, _, _ := strings.Cut(rest, "\n\n")
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPageIncrement codes the head and the groups of the page's increment, and reads them.
func TestPageIncrement(t *testing.T) {
	head := Head{From: 7, To: 9}
	for i := range head.Store {
		head.Store[i], head.ID[i], head.Base[i] = 0x11, 0x22, 0x33
	}
	dir := &rowblock.Directory{Slots: [][]rowblock.SubBlocks{{{Slot: 5, Lo: 0, Hi: 1, Pos: 7}, {Slot: 6, Lo: 1, Hi: 3, Pos: 9}}}}
	var packed bytes.Buffer
	b, err := NewWriter(&packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	parts := append(AppendGroup(nil, labelindex.Group{Class: 1}, 9, dir), AppendSame(nil, labelindex.Group{Class: 1, Number: 1}, 4)...)
	err = b.Head(&head, pageVersion)
	if err == nil {
		_, err = b.Write(parts)
	}
	if err = errors.Join(err, b.Close()); err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(&packed)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	want := pageIncrement(t)
	if !bytes.Equal(out, want) {
		t.Fatalf("the page says % x; today it is\n% x", want, out)
	}
	r := record.Reader{Rest: want}
	if text := r.Bytes(uint64(len(magic))); string(text) != magic {
		t.Errorf("magic %q", text)
	}
	var got Head
	if err := got.Parse(r.Bytes(r.Uvarint()), pageVersion); err != nil || got != head {
		t.Errorf("head %+v, %v", got, err)
	}
	p := new(plan)
	p.file(&got)
	kind, id, pos := r.Byte(), labelindex.Group{Class: uint32(r.Uvarint()), Number: uint32(r.Uvarint())}, wal.Pos(r.Uvarint())
	if err := p.group(id, pos, r.Bytes(r.Uvarint())); err != nil || kind != partGroup || pos != 9 {
		t.Fatal(kind, pos, err)
	}
	if len(p.blocks) != 1 || p.blocks[0].SubBlocks != dir.Slots[0][1] {
		t.Errorf("blocks that follow: %+v", p.blocks)
	}
	if w := p.wanted[id]; w == nil || w.whole || len(w.slots) != 1 || w.slots[0].SubBlocks != dir.Slots[0][0] {
		t.Errorf("wanted of the base: %+v", w)
	}
	p.state, p.blocks = false, nil // the pairs that the page does not show
	kind, id, pos = r.Byte(), labelindex.Group{Class: uint32(r.Uvarint()), Number: uint32(r.Uvarint())}, wal.Pos(r.Uvarint())
	if err := p.same(id, pos); err != nil || kind != partSame || p.wanted[id] == nil || p.wanted[id].pos != 4 {
		t.Error(kind, pos, err)
	}
	if len(r.Rest) > 0 || r.Err != nil {
		t.Errorf("behind it: %x %v", r.Rest, r.Err)
	}
}
