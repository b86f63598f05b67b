package core_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// A fewWrites fails after some writes.
type fewWrites struct{ left int }

func (w *fewWrites) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

// TestIncrementCut: an increment whose writer fails ends with that error, and one that was cut
// anywhere, or has a flipped bit behind a right checksum, restores nothing.
func TestIncrementCut(t *testing.T) {
	s := enginetest.Open(t)
	f := newFeeder(t, s, 300)
	f.mustFeed(100)
	base := mustBackup(t, s)
	f.mustFeed(100)
	whole := since(t, s, base)
	fails := 0
	for n := 0; ; n++ {
		err := s.BackupSince(t.Context(), &fewWrites{n}, headOf(t, base))
		if err == nil {
			break
		}
		if fails++; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("write %d: %v", n, err)
		}
	}
	if fails == 0 {
		t.Error("no write failed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.BackupSince(ctx, io.Discard, headOf(t, base)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	plain := decompress(t, whole)
	for i := 1; i < 40; i++ {
		at := len(plain) * i / 40
		names := backupFiles(t, base, compress(t, plain[:at]), base, whole[:len(whole)*i/40])
		for _, pair := range [][]string{names[:2], names[2:]} {
			if _, err := core.VerifyBackups(t.Context(), pair...); err == nil {
				t.Errorf("an increment of %d bytes cut at %d was found right", len(plain), at)
			}
		}
	}
}

// summed puts the checksum right that ends the content of a backup.
func summed(plain []byte) []byte {
	plain = bytes.Clone(plain)
	if n := len(plain) - 5; n > 0 {
		binary.LittleEndian.PutUint32(plain[n+1:], crc32.Checksum(plain[:n], crc32.MakeTable(crc32.Castagnoli)))
	}
	return plain
}

// FuzzRestoreIncrement: whatever an increment says, no panic, bounded memory, a folder that is
// whole or is not there.
func FuzzRestoreIncrement(f *testing.F) {
	s := enginetest.Open(f)
	ref := mustCreate(f, s, "a", definition(f, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"))
	feed := func(from int64) {
		var b core.Batch
		for i := range int64(40) {
			b.Add(ref, rra.Seconds(programStart+10*(from+i)), rra.Float(float64(i)))
		}
		mustAppend(f, s, &b)
	}
	feed(1)
	full := mustBackup(f, s)
	feed(100)
	one := since(f, s, full)
	mustCreate(f, s, "b", definition(f, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10", "RRA:MAX:0.5:6:10"))
	two := since(f, s, one)
	f.Add(decompress(f, one))
	f.Add(decompress(f, two)) // one has its base
	f.Add(decompress(f, full))
	dir := f.TempDir()
	first := filepath.Join(dir, "full")
	mustClose(f, os.WriteFile(first, full, 0o600))
	f.Fuzz(func(t *testing.T, in []byte) {
		next := filepath.Join(t.TempDir(), "next")
		mustClose(t, os.WriteFile(next, compress(t, summed(in)), 0o600))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		to := filepath.Join(t.TempDir(), "r")
		err := core.RestoreFiles(to, first, next)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 96<<20+uint64(len(in))<<12 {
			t.Errorf("%d bytes for an input of %d", n, len(in))
		}
		if _, err2 := core.VerifyBackups(t.Context(), first, next); err == nil && err2 != nil && !errors.Is(err2, core.ErrDamaged) {
			t.Errorf("restored, and yet %v", err2)
		}
		looksRestored(t, to, err)
	})
}

// FuzzBackupHead: what a client sends as a head is read or refused, and read again as it was.
func FuzzBackupHead(f *testing.F) {
	s := enginetest.Open(f)
	full := mustBackup(f, s)
	for _, b := range [][]byte{full, since(f, s, full)} {
		code, err := headOf(f, b).AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var h, again core.BackupHead
		if err := h.UnmarshalBinary(in); err != nil {
			if !errors.Is(err, core.ErrInvalid) && !errors.Is(err, core.ErrVersion) {
				t.Error(err)
			}
			return
		}
		code, err := h.AppendBinary(nil)
		if err != nil || again.UnmarshalBinary(code) != nil || again != h {
			t.Errorf("%x became %x: %v", in, code, err)
		}
	})
}
