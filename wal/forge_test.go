package wal_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// forgedHeader is a block's header that anybody can compute who knows the format and counts
// segments. It says that everything up to a position far away was durable.
func forgedHeader(segment uint64, rnd *rand.Rand) []byte {
	id := binary.LittleEndian.AppendUint64([]byte("rondowal"), segment)
	b := make([]byte, wal.BlockHeader)
	copy(b, "rblk")
	binary.LittleEndian.PutUint32(b[8:], rnd.Uint32())
	binary.LittleEndian.PutUint32(b[12:], 0x414243)
	binary.LittleEndian.PutUint32(b[16:], 0x515253)
	binary.LittleEndian.PutUint32(b[20:], 0x10203)
	binary.LittleEndian.PutUint64(b[24:], 0x7172737475767778)
	binary.LittleEndian.PutUint64(b[32:], 0x6162636465666768)
	b[40] = byte(wal.Snappy)
	// Once the checksum of magic and id was all the salt that there was.
	wal.SealBlock(b, uint64(crc32.Checksum(id, crc32.MakeTable(crc32.Castagnoli))))
	return b
}

// Hostile text that looks like blocks of the segments to come was left in the tail of a recycled
// segment, where it passed for blocks that knew of later positions: Open refused the log after a
// kill.
func TestForgedBlocksInRecycledSegment(t *testing.T) {
	disk := waltest.NewDisk(1)
	o := wal.Options{FS: disk, SegmentBytes: 64 << 10}
	l := open(t, damageDir, o)
	rnd := rand.New(rand.NewPCG(1, 1))
	text := []byte(noise(4000))
	for id := uint64(2); id < 40; id++ {
		text = append(text, forgedHeader(id, rnd)...)
	}
	for range 12 {
		appendRecords(t, l, string(text))
	}
	for i := range 40 { // ordinary life: segments are truncated and recycled
		appendRecords(t, l, fmt.Sprint(i, noise(3000)))
		if err := l.Truncate(l.Last() - 1); err != nil {
			t.Fatal(err)
		}
	}
	o.FS = disk.Kill()
	last := l.Last()
	_ = l.Close() // its disk is gone
	k, err := wal.Open(damageDir, o)
	if err != nil {
		t.Fatalf("a log that was killed does not open: %v", err)
	}
	defer func() { _ = k.Close() }() // nothing was written
	if k.Last() != last {
		t.Errorf("the log ends at %d, want %d", k.Last(), last)
	}
}

// A segment's salt cannot be foretold: it is another one in each segment, and in a segment of the
// same id in another log.
func TestSaltIsRandom(t *testing.T) {
	seen := map[uint64]string{}
	for i := range 4 {
		disk := waltest.NewDisk(1)
		l := open(t, damageDir, wal.Options{FS: disk, SegmentBytes: 1000})
		for range 20 {
			appendRecords(t, l, noise(300))
		}
		for name, file := range disk.Files("*.wal") {
			salt := wal.SaltOf(file)
			if was := seen[salt]; was != "" {
				t.Errorf("%s of log %d has the salt %016x of %s", name, i, salt, was)
			}
			seen[salt] = fmt.Sprint(name, " of log ", i)
		}
	}
	if len(seen) < 20 {
		t.Errorf("looked at %d segments only", len(seen))
	}
}
