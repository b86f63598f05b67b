package wal_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// A folder is the files of a log of several segments, each record a commit of its own.
type folder struct {
	files   map[string][]byte
	records int
	first   []int // by segment, from 0: how many records lie before it
	blocks  []int // where each block of the newest segment starts
	newest  string
}

// makeFolder writes a log; closed says whether it has a clean end or was killed. Two with different
// seeds have the same segments, positions and sizes.
func makeFolder(t testing.TB, closed bool, seed int) folder {
	t.Helper()
	disk := waltest.NewDisk(1)
	l := open(t, damageDir, wal.Options{FS: disk, SegmentBytes: 400, DisablePreallocate: true})
	f := folder{records: 13}
	for i := range f.records {
		appendRecords(t, l, fmt.Sprintf("%d: record %02d %s", seed, i, strings.Repeat("x", i)))
	}
	var newest uint64
	err := l.Blocks(0, func(b wal.Block) error {
		if b.Segment != newest {
			newest = b.Segment
			f.first, f.blocks = append(f.first, int(b.First)-1), nil
		}
		f.blocks = append(f.blocks, int(b.Offset))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !closed {
		f.files = disk.Files("*")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if closed {
		f.files = disk.Files("*")
	}
	if len(f.first) < 3 || len(f.blocks) < 2 {
		t.Fatalf("segments begin behind %v records, the newest one's blocks at %v", f.first, f.blocks)
	}
	f.newest = segmentFile(len(f.first))
	return f
}

// with is the folder with other bytes in a file; nil: without the file.
func (f folder) with(name string, b []byte) folder {
	f.files = maps.Clone(f.files)
	if f.files[name] = b; b == nil {
		delete(f.files, name)
	}
	return f
}

// read opens the log and reads it from its first record to its end. refused says that Open was what
// gave the error.
func (f folder) read(t testing.TB) (got int, refused bool, err error) {
	disk := waltest.NewDisk(1)
	for name, b := range f.files {
		disk.Put(name, b)
	}
	l, err := wal.Open(damageDir, wal.Options{FS: disk, DisablePreallocate: true})
	if err != nil {
		if after := disk.Files("*"); !maps.EqualFunc(after, f.files, slices.Equal[[]byte]) {
			t.Errorf("a log that was refused (%v) was changed", err)
		}
		return 0, true, err
	}
	defer func() { _ = l.Close() }() // its disk goes
	if l.First() != 1 {
		return 0, false, fmt.Errorf("the log begins at %d", l.First())
	}
	err = l.Replay(0, func(p wal.Pos, rec []byte) error {
		if want := fmt.Sprintf("record %02d ", p-1); !strings.Contains(string(rec), want) {
			t.Errorf("position %d holds %q", p, rec)
		}
		got++
		return nil
	})
	return got, false, err
}

// damages are all cuts and all flipped bytes of a file.
func damages(file []byte, try func(what string, at int, damaged []byte)) {
	for at := range file {
		try("cut", at, file[:at:at])
		for _, x := range []byte{0x01, 0x80, 0xff} {
			b := slices.Clone(file)
			b[at] ^= x
			try(fmt.Sprintf("xor %#x", x), at, b)
		}
	}
}

// Every byte that is flipped and every length that is cut after a clean end is noticed, with
// segment and offset; in the mark it may do no harm instead.
func TestEveryDamageAfterCleanEnd(t *testing.T) {
	f := makeFolder(t, true, 1)
	tried := 0
	for name, file := range f.files {
		damages(file, func(what string, at int, damaged []byte) {
			tried++
			got, _, err := f.with(name, damaged).read(t)
			var corrupt *wal.CorruptError
			if filepath.Base(name) == "mark" {
				if err == nil && got == f.records || errors.As(err, &corrupt) && corrupt.Segment == 0 {
					return
				}
				t.Fatalf("mark, %s at %d: got %d records and %v", what, at, got, err)
			}
			if !errors.As(err, &corrupt) || segmentFile(int(corrupt.Segment)) != name || corrupt.Offset > int64(at) {
				t.Fatalf("%s, %s at %d: got %d records and %v, want a CorruptError there", name, what, at, got, err)
			}
		})
	}
	t.Logf("%d damages", tried)
}

// The same after a kill: what was acknowledged is there or missed, but for the end of the newest
// segment. There a damaged last commit passes for one that was never acknowledged, and a cut for
// the end.
func TestEveryDamageAfterKill(t *testing.T) {
	f := makeFolder(t, false, 1)
	before := f.first[len(f.first)-1]
	tried := 0
	for name, file := range f.files {
		damages(file, func(what string, at int, damaged []byte) {
			tried++
			got, _, err := f.with(name, damaged).read(t)
			if err == nil && got == f.records && filepath.Base(name) == "mark" {
				return
			}
			var corrupt *wal.CorruptError
			if errors.As(err, &corrupt) && (segmentFile(int(corrupt.Segment)) == name && corrupt.Offset <= int64(at) || corrupt.Segment == 0 && filepath.Base(name) == "mark") {
				return
			}
			i, found := slices.BinarySearch(f.blocks, at)
			if !found {
				i--
			}
			whole := before + i // records before the damage
			if err == nil && name == f.newest && got == whole && (what == "cut" || i == len(f.blocks)-1) {
				return
			}
			t.Fatalf("%s, %s at %d: got %d records of %d and %v", name, what, at, got, f.records, err)
		})
	}
	t.Logf("%d damages", tried)
}

// Segments that are exchanged for one another, doubled, or of another log are refused by Open, and
// so is a log without its newest segment. Another one that is missing is noticed by who reads it.
func TestEveryExchange(t *testing.T) {
	for _, closed := range []bool{true, false} {
		f, other := makeFolder(t, closed, 1), makeFolder(t, closed, 2)
		n := len(f.first)
		refused := func(what string, g folder) {
			t.Helper()
			got, refused, err := g.read(t)
			var corrupt *wal.CorruptError
			if !refused || !errors.As(err, &corrupt) && !errors.Is(err, wal.ErrHole) {
				t.Errorf("closed %t, %s: got %d records of %d and %v, want a refusal", closed, what, got, f.records, err)
			}
		}
		for i := 1; i <= n; i++ {
			a := segmentFile(i)
			switch got, _, err := f.with(a, nil).read(t); {
			case i == n:
				refused("without the newest segment", f.with(a, nil))
			case i > 1 && !(errors.Is(err, wal.ErrHole) && got == f.first[i-1]), i == 1 && (err == nil || !strings.Contains(err.Error(), "begins at")):
				t.Errorf("closed %t, without segment %d: got %d records and %v", closed, i, got, err)
			}
			refused(fmt.Sprintf("segment %d of another log", i), f.with(a, other.files[a]))
			refused(fmt.Sprintf("segment %d once more as the newest", i), f.with(segmentFile(n+1), f.files[a]))
			for j := 1; j < i; j++ {
				b := segmentFile(j)
				refused(fmt.Sprintf("segments %d and %d exchanged", i, j), f.with(a, f.files[b]).with(b, f.files[a]))
				refused(fmt.Sprintf("segment %d in place of %d", i, j), f.with(b, f.files[a]))
				refused(fmt.Sprintf("segment %d in place of %d", j, i), f.with(a, f.files[b]))
			}
		}
		refused("the newest of another log behind", f.with(segmentFile(n+1), other.files[f.newest]))
		mark := damageDir + "/mark"
		refused("without the mark", f.with(mark, nil))
		refused("the mark of another log", f.with(mark, other.files[mark]))
		refused("an empty mark", f.with(mark, []byte{}))
		refused("the mark alone", folder{files: map[string][]byte{mark: f.files[mark]}})
	}
}

// Files that are removed, renamed or replaced while the log is open are missed by the next commit
// that looks: nothing is acknowledged that goes when the process ends.
func TestFilesGoneWhileOpen(t *testing.T) {
	name := segmentFile(1)
	for _, c := range []struct {
		what   string
		damage func(d *waltest.Disk) error
		mend   func(d *waltest.Disk) error // nil: it needs another Open
	}{
		{"removed", func(d *waltest.Disk) error { return d.Remove(name) }, nil},
		{"replaced", func(d *waltest.Disk) error { d.Put(name, d.Files("*.wal")[name]); return nil }, nil},
		{
			"renamed", func(d *waltest.Disk) error { return d.Rename(name, damageDir+"/aside") },
			func(d *waltest.Disk) error { return d.Rename(damageDir+"/aside", name) },
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			disk := waltest.NewDisk(1)
			l := open(t, damageDir, wal.Options{FS: disk})
			appendRecords(t, l, "one", "two")
			if err := c.damage(disk); err != nil {
				t.Fatal(err)
			}
			if err := l.Truncate(1); !errors.Is(err, wal.ErrGone) { // a checkpoint looks at once
				t.Errorf("truncate: got %v, want ErrGone", err)
			}
			if _, err := l.Append(t.Context(), []byte("three")); !errors.Is(err, wal.ErrGone) || errors.Is(err, wal.ErrRetry) {
				t.Errorf("append: got %v, want ErrGone", err)
			}
			if l.Last() != 2 {
				t.Errorf("the log ends at %d, want 2", l.Last())
			}
			if c.mend == nil {
				return
			}
			if err := c.mend(disk); err != nil {
				t.Fatal(err)
			}
			appendRecords(t, l, "three")
			if got := records(t, l, 0); len(got) != 3 {
				t.Errorf("got %d records, want 3", len(got))
			}
		})
	}
}
