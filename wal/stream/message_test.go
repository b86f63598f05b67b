package stream

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/wal"
)

// pageExample reads the bytes of an example in docs/design/cluster.md.
func pageExample(t *testing.T, name string) []byte {
	t.Helper()
	page, err := os.ReadFile("../../docs/design/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, found := strings.Cut(string(page), "<!-- example: "+name+" -->\n\n```hex\n")
	example, _, closed := strings.Cut(example, "```")
	if !found || !closed {
		t.Fatalf("the page has no example of a %s", name)
	}
	b, err := hex.DecodeString(strings.Join(strings.Fields(example), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// exampleID is the log of the page's example.
var exampleID = wal.ID{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10}

// TestPageExample writes the message of the page, and reads it.
func TestPageExample(t *testing.T) {
	want, of := pageExample(t, "claim"), header{Kind: claim, First: 41, Writer: 7, Log: exampleID, Nonce: 0x1122334455667788}
	if got := appendMessage(nil, of, nil); !bytes.Equal(got, want) {
		t.Errorf("the message is\n%s\nthe page has\n%s", hex.Dump(got), hex.Dump(want))
	}
	h, payload, err := parseMessage(want)
	if err != nil || len(payload) > 0 {
		t.Errorf("payload %x, %v, want none", payload, err)
	}
	if diff := cmp.Diff(of, h); diff != "" {
		t.Error(diff)
	}
}

// TestMessageDamage changes each bit of a message, and cuts it everywhere.
func TestMessageDamage(t *testing.T) {
	h := header{Kind: part, Parts: 1, Count: 1, First: 1, Writer: 1, Log: exampleID}
	whole := appendMessage(nil, h, wal.AppendBlock(nil, wal.AppendRecord(nil, []byte("record")), 1, 1, h.salt()))
	for i := range len(whole) * 8 {
		b := bytes.Clone(whole)
		b[i/8] ^= 1 << (i % 8)
		if _, _, err := parseMessage(b); err == nil {
			t.Errorf("bit %d of byte %d changed unnoticed", i%8, i/8)
		}
	}
	for n := range whole {
		if _, _, err := parseMessage(whole[:n]); err == nil {
			t.Errorf("a message of %d bytes cut to %d was read", len(whole), n)
		}
	}
}

// A message of another version is distinguished from damage if a newer program may have written it.
func TestMessageOfNewerVersion(t *testing.T) {
	for version, newer := range map[byte]bool{0: false, messageVersion + 1: true, 255: true} {
		b := appendMessage(nil, header{Kind: claim, First: 1, Log: exampleID}, nil)
		b[8] = version
		binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli))
		f := finder{}
		_, err := f.parse(1, b)
		if err == nil || errors.Is(err, wal.ErrNewer) != newer {
			t.Errorf("version %d: %v", version, err)
		}
	}
	b := appendMessage(nil, header{Kind: part + 1, First: 1, Log: exampleID}, nil)
	if _, _, err := parseMessage(b); !errors.Is(err, wal.ErrNewer) {
		t.Errorf("a kind that this version does not know: %v, want ErrNewer", err)
	}
}

// FuzzMessage reads anything with a right checksum: what is read is written in the same way.
func FuzzMessage(f *testing.F) {
	h := header{Kind: part, Part: 1, Parts: 3, Count: 9, First: 5, Writer: 2, Log: exampleID, Nonce: 1}
	// A record that spans messages, and a message without a payload.
	f.Add(appendMessage(nil, h, []byte("part of a block")))
	f.Add(appendMessage(nil, header{Kind: claim, First: 1, Log: exampleID}, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= messageHeader {
			binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli))
		}
		h, payload, err := parseMessage(b)
		if err != nil {
			return
		}
		if h.end() < h.First || h.First == 0 {
			t.Errorf("positions %d to %d", h.First, h.end())
		}
		again, _, err := parseMessage(appendMessage(nil, h, payload))
		if err != nil || again != h {
			t.Errorf("%+v was written and read as %+v, %v", h, again, err)
		}
	})
}
