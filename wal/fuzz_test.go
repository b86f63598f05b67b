package wal_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// reseal makes the checksums right of whatever looks like a block, so that fuzzing gets behind
// them.
func reseal(file []byte, salt uint64) {
	for at := wal.SegmentHeader; at+wal.BlockHeader <= len(file); {
		i := bytes.Index(file[at:], []byte("rblk"))
		if i < 0 || at+i+wal.BlockHeader > len(file) {
			return
		}
		at += i
		b := file[at:]
		if n := int64(binary.LittleEndian.Uint32(b[12:])); n <= int64(len(b)-wal.BlockHeader) {
			binary.LittleEndian.PutUint32(b[8:], wal.Checksum(b[wal.BlockHeader:][:n]))
		}
		wal.SealBlock(b, salt)
		at += wal.BlockHeader
	}
}

// FuzzSegment opens and replays any bytes as a segment: no panic, memory in proportion, and what
// one Open left the next one finds whole.
func FuzzSegment(f *testing.F) {
	s := makeSample(f)
	f.Add(s.file[:s.offsets[5]], false)
	f.Add(s.file[:s.offsets[5]], true)
	f.Add(s.file[:s.offsets[5]-3], true)                                         // torn
	f.Add(append(bytes.Clone(s.file[:s.offsets[2]]), s.blocks()[3]...), true)    // a hole
	f.Add(append(bytes.Clone(s.file[:s.offsets[2]]), make([]byte, 99)...), true) // reserved space
	f.Add(s.file[:10], false)                                                    // no header
	f.Add([]byte{}, false)
	big := bytes.Clone(s.file[:s.offsets[2]])
	binary.LittleEndian.PutUint32(big[s.offsets[1]+16:], 16<<20) // says it unpacks to much
	f.Add(big, true)

	f.Fuzz(func(t *testing.T, file []byte, fix bool) {
		if fix {
			file = bytes.Clone(file)
			reseal(file, wal.SaltOf(s.file))
		}
		disk := waltest.NewDisk(1)
		disk.Put(segmentFile(1), file)
		disk.Put(damageDir+"/mark", wal.MarkFile(s.killed()))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		l, err := wal.Open(damageDir, wal.Options{FS: disk, ReadOnly: true})
		if err == nil {
			err = l.Replay(0, func(wal.Pos, []byte) error { return nil })
		}
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(100*len(file)+1<<20); got > most {
			t.Errorf("%d bytes took %d of memory", len(file), got)
		}
		var corrupt *wal.CorruptError
		if err != nil && !errors.As(err, &corrupt) {
			t.Errorf("got %v, want a CorruptError", err)
		}

		l, err = wal.Open(damageDir, wal.Options{FS: disk})
		if err != nil {
			if !errors.As(err, &corrupt) {
				t.Errorf("got %v, want a CorruptError", err)
			}
			return
		}
		last := l.Last()
		appendRecords(t, l, "one more")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = open(t, damageDir, wal.Options{FS: disk})
		if l.Last() != last+1 || l.Stats().TornBytes != 0 {
			t.Errorf("reopened log ends with %d and %d bytes torn, want %d and none", l.Last(), l.Stats().TornBytes, last+1)
		}
	})
}
