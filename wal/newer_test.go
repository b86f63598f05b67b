package wal_test

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

const markFile = damageDir + "/mark"

// resealed is a copy of the bytes of a file with other ones at an offset, and with the checksum of
// the n bytes from there that begin at start, where a header of the present version has it.
func resealed(file []byte, start, n, at int, patch ...byte) []byte {
	b := slices.Clone(file)
	copy(b[at:], patch)
	binary.LittleEndian.PutUint32(b[start+n-4:], wal.Checksum(b[start:start+n-4]))
	return b
}

// A log that a newer program wrote in part is refused by an error that says so, and not one byte of
// it is changed. A reader gets the records before that part.
func TestNewerVersion(t *testing.T) {
	for state, closed := range map[string]bool{"closed": true, "killed": false} {
		f := makeFolder(t, closed, 1)
		newest := f.files[f.newest]
		elsewhere := slices.Clone(newest) // its version has the checksum elsewhere
		copy(elsewhere[wal.SegmentHeader-4:], []byte{0, 0, 0, 0})
		elsewhere[8] = 200
		block := slices.Clone(newest[f.blocks[len(f.blocks)-1]:])
		behind := binary.LittleEndian.AppendUint64(nil, uint64(f.records)+1)
		copy(block[24:], behind)
		block[40] = 9
		wal.SealBlock(block, wal.SaltOf(newest))
		within := slices.Clone(newest)
		last := within[f.blocks[len(f.blocks)-1]:]
		last[40] = 9
		wal.SealBlock(last, wal.SaltOf(newest))
		mark := f.files[markFile]
		for name, x := range map[string]struct {
			file  string
			bytes []byte
			reads int // records
		}{
			"first segment":                       {segmentFile(1), resealed(f.files[segmentFile(1)], 0, wal.SegmentHeader, 8, 3), 0},
			"newest segment":                      {f.newest, resealed(newest, 0, wal.SegmentHeader, 8, 3), f.first[len(f.first)-1]},
			"newest segment, checksum elsewhere":  {f.newest, elsewhere, f.first[len(f.first)-1]},
			"block at the end":                    {f.newest, within, f.records - 1},
			"block behind the end":                {f.newest, append(slices.Clone(newest), block...), f.records},
			"block behind what may be torn":       {f.newest, append(append(slices.Clone(newest), "noise"...), block...), f.records},
			"first slot of the mark":              {markFile, resealed(mark, 0, wal.MarkBytes, 8, 3), f.records},
			"second slot of the mark":             {markFile, resealed(mark, wal.MarkSlot, wal.MarkBytes, wal.MarkSlot, []byte("rondomrk\x03")...), f.records},
			"mark of a version far in the future": {markFile, resealed(mark, 0, wal.MarkBytes, 8, 255), f.records},
		} {
			t.Run(state+", "+name, func(t *testing.T) {
				g := f.with(x.file, x.bytes)
				// Files that Open removes where it accepts the log.
				g = g.with(damageDir+"/00000000000000000099.new", []byte("x"))
				if _, refused, err := g.read(t); !refused || !errors.Is(err, wal.ErrNewer) {
					t.Fatalf("got %v (of Open: %v), want ErrNewer of Open", err, refused)
				}
				disk := waltest.NewDisk(1)
				for name, b := range g.files {
					disk.Put(name, b)
				}
				l, err := wal.Open(damageDir, wal.Options{FS: disk, ReadOnly: true})
				read := 0
				if err == nil {
					err = l.Replay(0, func(wal.Pos, []byte) error { read++; return nil })
				}
				if !errors.Is(err, wal.ErrNewer) || read != x.reads {
					t.Errorf("a reader got %d records and %v, want %d and ErrNewer", read, err, x.reads)
				}
				if after := disk.Files("*"); !maps.EqualFunc(after, g.files, slices.Equal[[]byte]) {
					t.Error("a reader has changed the log")
				}
			})
		}
	}
}

// A version that is a damaged byte, while the rest is as its checksum says, is damage: no newer
// program would help.
func TestDamagedVersion(t *testing.T) {
	f := makeFolder(t, true, 1)
	for _, name := range []string{segmentFile(1), f.newest, markFile} {
		b := slices.Clone(f.files[name])
		b[8] = 77
		_, _, err := f.with(name, b).read(t)
		if name == markFile && err == nil {
			continue // the other slot counts
		}
		if _, ok := errors.AsType[*wal.CorruptError](err); !ok || errors.Is(err, wal.ErrNewer) {
			t.Errorf("%s: got %v, want damage", name, err)
		}
	}
}
