package core_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/rra"
)

// rotten makes a store of three series with an archive of 1000 rows, two blocks of rows each, and
// no background.
func rotten(t *testing.T) (s *core.Store, refs []core.Ref, feed func(n int)) {
	t.Helper()
	s, err := core.Open(t.TempDir(), core.Options{NoBackground: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for i := range 3 {
		refs = append(refs, mustCreate(t, s, fmt.Sprintf("web/%d", i), definition(t, "DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:1000")))
	}
	at := int64(programStart)
	feed = func(n int) {
		t.Helper()
		var b core.Batch
		for range n {
			at += 10
			for i, ref := range refs {
				b.Add(ref, rra.Seconds(at), rra.Float(float64(at%1000*10+int64(i))))
			}
		}
		mustAppend(t, s, &b)
		if err := s.Checkpoint(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	feed(64)
	return s, refs, feed
}

// rot changes the first value of a bucket.
func rot(t *testing.T, s *core.Store, bucket string, change func(k, v []byte) []byte) (key []byte) {
	t.Helper()
	return rotFrom(t, s, bucket, "", change)
}

// rotFrom is rot for the first entry whose key is not before from.
func rotFrom(t *testing.T, s *core.Store, bucket, from string, change func(k, v []byte) []byte) (key []byte) {
	t.Helper()
	if err := s.DB().Update(nil, func(tx *boltfile.Tx) error {
		k, v := tx.Bucket([]byte(bucket)).Cursor().Seek([]byte(from))
		key = bytes.Clone(k)
		if v = change(key, bytes.Clone(v)); v == nil {
			return tx.Bucket([]byte(bucket)).Delete(key)
		}
		return tx.Bucket([]byte(bucket)).Put(key, v)
	}, nil); err != nil {
		t.Fatal(err)
	}
	return key
}

// A flipped byte of a row block was read as other rows: only checks and merges looked at its
// checksum.
func TestFetchRefusesEveryFlippedByteOfRows(t *testing.T) {
	s, refs, _ := rotten(t)
	ctx := context.Background()
	fetch := func(ref core.Ref) (core.Rows, error) { return s.Fetch(ctx, ref, 0, programStart, programStart+640) }
	var want []core.Rows
	for _, ref := range refs {
		r, err := fetch(ref)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, r)
	}
	var whole []byte
	rot(t, s, "rows", func(_, v []byte) []byte { whole = v; return v })
	s.DB().SetNoSync()
	spared := 0
	for at := range whole {
		for _, bit := range []byte{1 << (at % 8)} {
			rot(t, s, "rows", func(_, v []byte) []byte {
				copy(v, whole)
				v[at] ^= bit
				return v
			})
			failed := 0
			for i, ref := range refs {
				got, err := fetch(ref)
				var damage *core.DamageError
				switch {
				case err == nil && !slices.Equal(got.Values, want[i].Values):
					t.Fatalf("byte %d: series %d has other rows", at, i)
				case err == nil:
					spared++
				case !errors.Is(err, core.ErrDamaged) || !errors.As(err, &damage) || damage.Bucket != "rows" || damage.From >= programStart+640:
					t.Fatalf("byte %d: %v", at, err)
				case damage.Series != "" && damage.Series != fmt.Sprintf("web/%d", i):
					t.Fatalf("byte %d: damage of series %d is said of %q", at, i, damage.Series)
				default:
					failed++
				}
			}
			if failed == 0 {
				t.Fatalf("byte %d of %d: nobody noticed", at, len(whole))
			}
		}
	}
	if spared == 0 {
		t.Error("no series stayed readable while another one was damaged")
	}
	if s.Stats().Damaged == 0 {
		t.Error("damage is not counted")
	}
}

// After a damaged block of a group, the next series of the same call was read without its blocks.
func TestFetchManyRefusesAllSeriesOfDamagedBlock(t *testing.T) {
	s, refs, _ := rotten(t)
	rot(t, s, "rows", func(_, v []byte) []byte { v[1] ^= 1; return v })
	failed := 0
	err := s.FetchMany(context.Background(), core.Spans(refs, 0, programStart, programStart+640), func(_ int, _ *core.Rows, err error) {
		if errors.Is(err, core.ErrDamaged) {
			failed++
		}
	})
	if failed != len(refs) || !errors.Is(err, core.ErrDamaged) {
		t.Errorf("%d of %d series are damaged: %v", failed, len(refs), err)
	}
}

// A block under another key was read as the rows of that key.
func TestFetchRefusesExchangedBlocks(t *testing.T) {
	s, refs, feed := rotten(t)
	feed(200)
	if err := s.DB().Update(nil, func(tx *boltfile.Tx) error {
		b := tx.Bucket([]byte("rows"))
		c := b.Cursor()
		k, v := c.First()
		l, w := c.Next()
		k, v, l, w = bytes.Clone(k), bytes.Clone(v), bytes.Clone(l), bytes.Clone(w)
		return errors.Join(b.Put(k, w), b.Put(l, v))
	}, nil); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Fetch(context.Background(), refs[0], 0, programStart, programStart+2640); !errors.Is(err, core.ErrDamaged) {
		t.Errorf("%v, %v", r, err)
	}
}

// A merge gave a damaged block a fresh checksum, and an export, an alter and a backup copied it.
func TestDamageIsNotCopied(t *testing.T) {
	s, refs, feed := rotten(t)
	ctx := context.Background()
	key := rot(t, s, "rows", func(_, v []byte) []byte { v[len(v)-1] ^= 1; return v }) // of the last series
	var v []byte
	for range 12 {
		feed(20) // several sub-blocks, and the slot becomes complete
	}
	if err := s.DB().View(nil, func(tx *boltfile.Tx) error { v = bytes.Clone(tx.Bucket([]byte("rows")).Get(key)); return nil }); err != nil {
		t.Fatal(err)
	}
	if v == nil {
		t.Fatal("the damaged block was merged")
	}
	fetch := func(ref core.Ref, from int64) error {
		_, err := s.Fetch(ctx, ref, 0, from, programStart+3040)
		return err
	}
	var damage *core.DamageError
	if err := fetch(refs[2], programStart); !errors.As(err, &damage) || damage.Series != "web/2" || !strings.Contains(err.Error(), "10 s rows from") {
		t.Errorf("fetch: %v", err)
	}
	if err := errors.Join(fetch(refs[0], programStart), fetch(refs[2], damage.To)); err != nil {
		t.Errorf("what is whole is not readable: %v", err)
	}
	if _, err := s.Export(ctx, refs[2]); !errors.Is(err, core.ErrDamaged) {
		t.Errorf("export: %v", err)
	}
	if _, err := s.Alter(ctx, "web/2", func(c core.Copy) (core.Copy, error) { return c, nil }); !errors.Is(err, core.ErrDamaged) {
		t.Errorf("alter: %v", err)
	}
	if err := s.Backup(ctx, io.Discard); !errors.Is(err, core.ErrDamaged) {
		t.Errorf("backup: %v", err)
	}
	if n := s.Stats().Damaged; n != 1 {
		t.Errorf("%d places of damage are counted", n)
	}
}

// A damaged block that is never merged must not make a slot of more sub-blocks than a state record
// may name.
func TestSlotWithDamageIsMergedBehindIt(t *testing.T) {
	s, err := core.Open(t.TempDir(), core.Options{NoBackground: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	ref := mustCreate(t, s, "a", definition(t, "DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:24000")) // slots of 2000 rows
	at := int64(programStart) / 20480 * 20480
	begin := at
	feed := func() {
		var b core.Batch
		for range 32 {
			at += 10
			b.Add(ref, rra.Seconds(max(at, programStart+10)), rra.Float(1))
		}
		_ = s.Append(context.Background(), &b) // samples before the start of the series are late
		if err := s.Checkpoint(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for at < programStart+320 {
		feed()
	}
	rot(t, s, "rows", func(_, v []byte) []byte { v[len(v)-1] ^= 1; return v })
	for range 60 {
		feed()
	}
	n := 0
	if err := s.DB().View(nil, func(tx *boltfile.Tx) error { n = tx.Bucket([]byte("rows")).Stats().KeyN; return nil }); err != nil {
		t.Fatal(err)
	}
	if n > 40 {
		t.Errorf("%d sub-blocks since %d", n, begin)
	}
	if _, err := s.Fetch(context.Background(), ref, 0, at-320, at); err != nil && (at-320)/20480 != programStart/20480 {
		t.Errorf("a slot without damage: %v", err)
	}
	problems, err := s.Check(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.Contains(p.What, "missing") {
			t.Errorf("what was merged is gone: %v", p)
		}
	}
}
