package wal_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

const damageDir = "/wal"

func segmentFile(id int) string { return fmt.Sprintf("%s/%020d.wal", damageDir, id) }

// sample is a closed log of one segment: its file, where its blocks start (and the last one ends),
// and how many records lie before each.
type sample struct {
	file    []byte
	clean   wal.Mark // as when the log was closed
	offsets []int
	records []int
}

func makeSample(t testing.TB) sample {
	t.Helper()
	disk := waltest.NewDisk(1)
	l := open(t, damageDir, wal.Options{FS: disk})
	for i := range 8 {
		appendRecords(t, l, fmt.Sprintf("record %d: %s", i+1, strings.Repeat("ab", i)))
	}
	// One commit of several blocks; one is packed.
	for i := range 3 {
		if _, err := l.Enqueue([]byte(strings.Repeat(fmt.Sprintf("big %d ", i), 40_000))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Barrier(t.Context()); err != nil {
		t.Fatal(err)
	}
	appendRecords(t, l, "the last but one", "the last")
	var s sample
	n := 0
	err := l.Blocks(0, func(b wal.Block) error {
		s.offsets = append(s.offsets, int(b.Offset))
		s.records = append(s.records, n)
		n += b.Count
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.file = disk.Files("*.wal")[segmentFile(1)]
	s.clean = l.Marked()
	s.offsets = append(s.offsets, len(s.file))
	s.records = append(s.records, n)
	return s
}

// within counts the records of blocks that end at or before n, and returns where the last of these
// ends.
func (s sample) within(n int) (records, end int) {
	i, found := slices.BinarySearch(s.offsets, n)
	if !found {
		i--
	}
	return s.records[i], s.offsets[i]
}

// killed is the mark as it was before the log was closed: the segment was begun, and nothing more.
func (s sample) killed() wal.Mark {
	m := s.clean
	m.End, m.Last = wal.SegmentHeader, 0
	return m
}

// openFile opens a log whose only segment is file.
func openFile(m wal.Mark, file []byte) (*wal.Log, error) {
	disk := waltest.NewDisk(1)
	disk.Put(segmentFile(1), file)
	disk.Put(damageDir+"/mark", wal.MarkFile(m))
	return wal.Open(damageDir, wal.Options{FS: disk, DisablePreallocate: true})
}

// lengths are all lengths to n, but of long stretches only some.
func lengths(n int) []int {
	var all []int
	for i := 0; i <= n; i++ {
		all = append(all, i)
		if i > 1200 && i < n-400 {
			i += 498
		}
	}
	return all
}

// Every truncation of the newest segment leaves the whole blocks before it.
func TestEveryTruncation(t *testing.T) {
	s := makeSample(t)
	for _, n := range lengths(len(s.file)) {
		l, err := openFile(s.killed(), s.file[:n])
		if n < wal.SegmentHeader {
			var corrupt *wal.CorruptError
			if !errors.As(err, &corrupt) || corrupt.Segment != 1 || corrupt.Offset != 0 {
				t.Fatalf("cut to %d bytes: got %v, want a CorruptError in segment 1 at 0", n, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
		want, end := s.within(n)
		torn := len(bytes.TrimRight(s.file[end:n], "\x00")) // zeros are as good as nothing
		if l.Last() != wal.Pos(want) || l.Stats().TornBytes != int64(torn) {
			t.Fatalf("cut to %d bytes: got %d records and %d bytes torn, want %d and %d", n, l.Last(), l.Stats().TornBytes, want, torn)
		}
		if got := records(t, l, 0); len(got) != want {
			t.Fatalf("cut to %d bytes: replayed %d records of %d", n, len(got), want)
		}
		appendRecords(t, l, "and on")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Every flipped byte is found: refused with segment and offset where a later block knows that the
// damaged one was durable, and cut where it is the last one's.
func TestEveryFlippedByte(t *testing.T) {
	s := makeSample(t)
	tail := s.offsets[len(s.offsets)-2]
	for _, flip := range []byte{0x01, 0x80, 0xff} {
		for _, n := range lengths(len(s.file) - 1) {
			file := slices.Clone(s.file)
			file[n] ^= flip
			l, err := openFile(s.killed(), file)
			if n >= tail {
				if err != nil || int(l.Last()) != s.records[len(s.records)-2] {
					t.Fatalf("byte %d of the last block xor %#x: %v", n, flip, err)
				}
				if got := l.Stats().TornBytes; got != int64(len(s.file)-tail) {
					t.Fatalf("byte %d of the last block xor %#x: %d bytes torn, want %d", n, flip, got, len(s.file)-tail)
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				continue
			}
			at := 0
			if n >= wal.SegmentHeader {
				_, at = s.within(n)
			}
			var corrupt *wal.CorruptError
			if !errors.As(err, &corrupt) || corrupt.Segment != 1 || corrupt.Offset != int64(at) {
				t.Fatalf("byte %d xor %#x: got %v, want a CorruptError in segment 1 at %d", n, flip, err, at)
			}
		}
	}
}

// blocks gives back the file's blocks, header included.
func (s sample) blocks() [][]byte {
	var all [][]byte
	for i, at := range s.offsets[:len(s.offsets)-1] {
		all = append(all, s.file[at:s.offsets[i+1]])
	}
	return all
}

func TestDamage(t *testing.T) {
	s := makeSample(t)
	all := s.records[len(s.records)-1]
	patch := func(b []byte, at int, patch []byte, segment uint64) []byte {
		b = slices.Clone(b)
		copy(b[at:], patch)
		wal.SealBlock(b, wal.SaltOf(s.file)+segment-1) // another one has another salt
		return b
	}
	le32 := func(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
	le64 := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	lastBlock := s.blocks()[len(s.offsets)-2]
	next := patch(lastBlock, 24, le64(uint64(all)+1), 1) // a block that may follow

	for _, c := range []struct {
		name    string
		damage  func(file []byte) []byte
		records int    // that are left
		torn    int64  // bytes
		corrupt string // instead
	}{
		{"nothing", func(f []byte) []byte { return f }, all, 0, ""},
		{"a block that may follow", func(f []byte) []byte { return append(f, next...) }, all + 1, 0, ""},
		{"zeros behind", func(f []byte) []byte { return append(f, make([]byte, 100_000)...) }, all, 0, ""},
		{"few zeros behind", func(f []byte) []byte { return append(f, 0, 0, 0) }, all, 0, ""},
		{"noise behind", func(f []byte) []byte { return append(f, "rblk noise"...) }, all, 10, ""},
		{"noise behind zeros", func(f []byte) []byte { return append(append(f, make([]byte, 9000)...), 1) }, all, 9001, ""},
		{"block of another segment", func(f []byte) []byte { return append(f, patch(next, 0, nil, 2)...) }, all, int64(len(next)), ""},
		{
			"later block without the one before, which nobody was told of",
			func(f []byte) []byte {
				return append(append(f, make([]byte, 5000)...), patch(next, 24, le64(uint64(all)+7), 1)...)
			}, all, 5000 + int64(len(next)), "",
		},
		{
			"later block without the one before, which was durable",
			func(f []byte) []byte {
				b := patch(next, 24, append(le64(uint64(all)+7), le64(uint64(all)+6)...), 1)
				return append(append(f, make([]byte, 2<<20)...), b...)
			}, 0, 0, "end of blocks, and position 19 was durable",
		},
		{
			"two blocks swapped",
			func(f []byte) []byte {
				b := s.blocks()
				b[2], b[3] = b[3], b[2]
				return append(slices.Clone(f[:s.offsets[0]]), slices.Concat(b...)...)
			}, 0, 0, "block has position 4 after 2",
		},
		{
			"block twice",
			func(f []byte) []byte { return append(f, lastBlock...) }, all, int64(len(lastBlock)), "",
		},
		{
			"length beyond the file",
			func(f []byte) []byte { return append(f, patch(next, 12, append(le32(1000), le32(1000)...), 1)...) },
			all, int64(len(next)), "",
		},
		{
			"length beyond reason",
			func(f []byte) []byte { return append(f, patch(next, 12, append(le32(1<<31), le32(1<<31)...), 1)...) },
			all, int64(len(next)), "",
		},
		{
			"unpacks beyond reason",
			func(f []byte) []byte { return append(f, patch(next, 16, le32(16<<20), 1)...) },
			all, int64(len(next)), "",
		},
		{
			"more records than bytes",
			func(f []byte) []byte { return append(f, patch(next, 20, le32(1<<30), 1)...) },
			all, int64(len(next)), "",
		},
		{
			"unknown codec",
			func(f []byte) []byte { return append(f, patch(next, 40, []byte{7}, 1)...) },
			0, 0, "unknown codec(7): written by a newer version of rondo",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := openFile(s.killed(), c.damage(slices.Clone(s.file)))
			if c.corrupt != "" {
				var corrupt *wal.CorruptError
				if !errors.As(err, &corrupt) || corrupt.Segment != 1 || !strings.Contains(err.Error(), c.corrupt) {
					t.Fatalf("got %v, want a CorruptError with %q", err, c.corrupt)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if int(l.Last()) != c.records || l.Stats().TornBytes != c.torn {
				t.Errorf("got %d records and %d bytes torn, want %d and %d", l.Last(), l.Stats().TornBytes, c.records, c.torn)
			}
			if got := records(t, l, 0); len(got) != c.records {
				t.Errorf("replayed %d records, want %d", len(got), c.records)
			}
			appendRecords(t, l, "and on")
		})
	}
}

// Records that a block's checksums vouch for but that do not add up are damage, not a crash of the
// reader.
func TestDamageInsideBlock(t *testing.T) {
	s := makeSample(t)
	for _, c := range []struct {
		name    string
		payload string
		count   uint32
		want    string
	}{
		{"record too long", "\x09\x00\x00\x00\x00abc", 1, "record lengths do not add up"},
		{"endless length", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 1, "record lengths do not add up"},
		{"record checksum", "\x03\x00\x00\x00\x00abc", 1, "record does not match its checksum"},
		{"fewer records", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 1, "record lengths do not add up"},
		{"more records", "\x04\x00\x00\x00\x00abcdefghij", 2, "record does not match its checksum"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := make([]byte, wal.BlockHeader, 100)
			copy(b, "rblk")
			binary.LittleEndian.PutUint32(b[8:], wal.Checksum([]byte(c.payload)))
			binary.LittleEndian.PutUint32(b[12:], uint32(len(c.payload)))
			binary.LittleEndian.PutUint32(b[16:], uint32(len(c.payload)))
			binary.LittleEndian.PutUint32(b[20:], c.count)
			binary.LittleEndian.PutUint64(b[24:], uint64(s.records[len(s.records)-1])+1)
			wal.SealBlock(b, wal.SaltOf(s.file))
			l, err := openFile(s.killed(), slices.Concat(s.file, b, []byte(c.payload)))
			if err != nil {
				t.Fatal(err)
			}
			err = l.Replay(0, func(wal.Pos, []byte) error { return nil })
			var corrupt *wal.CorruptError
			if !errors.As(err, &corrupt) || corrupt.Offset != int64(len(s.file)) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a CorruptError at %d with %q", err, len(s.file), c.want)
			}
		})
	}
}

// Replay reports damage in a segment that is not the newest, if it is asked for what is damaged. It
// gives all before the damage and all behind it.
func TestDamageInEarlierSegment(t *testing.T) {
	files, firsts := manySegments(t)
	flipped := func(at int) []byte {
		b := slices.Clone(files[segmentFile(2)])
		b[at] ^= 4
		return b
	}
	for _, c := range []struct {
		name   string
		second []byte // of segment 2, nil: it is missing
		hole   bool
	}{
		{"cut short", files[segmentFile(2)][:wal.SegmentHeader+30], false},
		{"cut at a block's end", files[segmentFile(2)][:wal.SegmentHeader], true},
		{"flipped byte", flipped(wal.SegmentHeader + 60), false},
		{"missing", nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			disk := waltest.NewDisk(1)
			for name, file := range files {
				disk.Put(name, file)
			}
			if disk.Put(segmentFile(2), c.second); c.second == nil {
				_ = disk.Remove(segmentFile(2)) // it was just put there
			}
			var corrupt *wal.CorruptError
			for _, readOnly := range []bool{false, true} {
				l := open(t, damageDir, wal.Options{FS: disk, SegmentBytes: 1000, ReadOnly: readOnly})
				n := wal.Pos(0)
				err := l.Replay(0, func(wal.Pos, []byte) error { n++; return nil })
				if !errors.As(err, &corrupt) || c.hole && !errors.Is(err, wal.ErrHole) {
					t.Errorf("replay: got %v, want a CorruptError, with a hole: %t", err, c.hole)
				}
				if n < firsts[2]-1 || n >= firsts[3]-1 {
					t.Errorf("replay: got %d records before the damage, want %d", n, firsts[2]-1)
				}
				if got := records(t, l, firsts[3]); len(got) != int(l.Last()-firsts[3]+1) {
					t.Errorf("replay behind the damage: got %d records", len(got))
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// manySegments gives the files of a log and the first position of each.
func manySegments(t *testing.T) (map[string][]byte, map[uint64]wal.Pos) {
	t.Helper()
	disk := waltest.NewDisk(1)
	l := open(t, damageDir, wal.Options{FS: disk, SegmentBytes: 1000})
	for i := range 60 {
		appendRecords(t, l, fmt.Sprintf("record %d of many", i))
	}
	firsts := map[uint64]wal.Pos{}
	err := l.Blocks(0, func(b wal.Block) error {
		if firsts[b.Segment] == 0 {
			firsts[b.Segment] = b.First
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return disk.Files("*"), firsts
}

// A log opened for reading shows what stands before the damage and then the damage, and leaves the
// folder alone.
func TestReadOnly(t *testing.T) {
	s := makeSample(t)
	file := slices.Clone(s.file)
	file[s.offsets[3]+50] ^= 1
	disk := waltest.NewDisk(1)
	disk.Put(segmentFile(1), file)
	disk.Put(damageDir+"/mark", wal.MarkFile(s.killed()))
	disk.Put(damageDir+"/00000000000000000009.new", []byte("begun"))
	ops := disk.Ops()
	l := open(t, damageDir, wal.Options{FS: disk, ReadOnly: true})
	n := 0
	err := l.Replay(0, func(wal.Pos, []byte) error { n++; return nil })
	var corrupt *wal.CorruptError
	if !errors.As(err, &corrupt) || corrupt.Offset != int64(s.offsets[3]) || n != 3 {
		t.Errorf("got %d records and %v, want 3 and a CorruptError at %d", n, err, s.offsets[3])
	}
	if _, err := l.Enqueue(nil); !errors.Is(err, wal.ErrSealed) {
		t.Errorf("enqueue: got %v, want ErrSealed", err)
	}
	if err := l.Truncate(1); !errors.Is(err, wal.ErrSealed) {
		t.Errorf("truncate: got %v, want ErrSealed", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if disk.Ops() != ops {
		t.Errorf("reading changed the disk %d times", disk.Ops()-ops)
	}
}
