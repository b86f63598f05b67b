package wal_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// pageExample reads the worked example of docs/format-wal.md: offset, bytes, and words about them.
func pageExample(t *testing.T, name string) []byte {
	t.Helper()
	page, err := os.ReadFile("../docs/format-wal.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, found := strings.Cut(string(page), "<!-- example: "+name+" -->\n\n```hex\n")
	example, _, closed := strings.Cut(example, "```")
	if !found || !closed {
		t.Fatalf("the page has no example of a %s", name)
	}
	var file []byte
	for line := range strings.Lines(example) {
		if want := fmt.Sprintf("%08x  ", len(file)); !strings.HasPrefix(line, want) {
			t.Fatalf("line %q does not start with %q", line, want)
		}
		for field := range strings.FieldsSeq(line[10:52]) {
			b, err := hex.DecodeString(field)
			if err != nil || len(b) != 1 {
				t.Fatalf("line %q: %q is not a byte", line, field)
			}
			file = append(file, b...)
		}
	}
	return file
}

// The example on the page is what a log reads, and what it writes.
func TestPageExample(t *testing.T) {
	file := pageExample(t, "segment")
	want := []string{"first", strings.Repeat("rondo ", 10)}

	disk := waltest.NewDisk(1)
	disk.Put(segmentFile(1), file)
	disk.Put(damageDir+"/mark", pageExample(t, "mark"))
	l := open(t, damageDir, wal.Options{FS: disk, ReadOnly: true})
	if got := records(t, l, 0); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("the page's log has %q, want %q", got, want)
	}
	var blocks []string
	err := l.Blocks(0, func(b wal.Block) error {
		blocks = append(blocks, fmt.Sprintf("%d at %d: %d records from %d, durable %d, %v, %d of %d bytes",
			b.Segment, b.Offset, b.Count, b.First, b.Durable, b.Codec, b.Stored, b.Raw))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantBlocks := "[1 at 128: 1 records from 1, durable 0, raw, 10 of 10 bytes 1 at 186: 1 records from 2, durable 1, snappy, 16 of 65 bytes]"
	if got := fmt.Sprint(blocks); got != wantBlocks {
		t.Errorf("the page's log has blocks\n%s, want\n%s", got, wantBlocks)
	}

	// The first log that was ever made: its id is 16 times a1, its first salt 8 times b2.
	disk = waltest.NewDisk(1)
	l = open(t, damageDir, wal.Options{FS: disk}.WithRandom(func(b []byte) {
		for i := range b {
			b[i] = map[int]byte{16: 0xa1, 8: 0xb2}[len(b)]
		}
	}))
	appendRecords(t, l, want...)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := disk.Files("*.wal")[segmentFile(1)]; !bytes.Equal(got, file) {
		t.Errorf("a log writes\n%s, the page has\n%s", hex.Dump(got), hex.Dump(file))
	}
	mark := pageExample(t, "mark")
	if got := disk.Files("mark")[damageDir+"/mark"]; !bytes.Equal(got[:len(mark)], mark) {
		t.Errorf("a log's mark is\n%s, the page has\n%s", hex.Dump(got), hex.Dump(mark))
	}
}
