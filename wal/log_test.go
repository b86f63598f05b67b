package wal_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rondo-db/rondo/wal"
)

func open(t testing.TB, dir string, o wal.Options) *wal.Log {
	t.Helper()
	l, err := wal.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // a test that cares closes it itself
	return l
}

func appendRecords(t testing.TB, l *wal.Log, recs ...string) {
	t.Helper()
	for _, rec := range recs {
		if _, err := l.Append(context.Background(), []byte(rec)); err != nil {
			t.Fatal(err)
		}
	}
}

func records(t testing.TB, l *wal.Log, from wal.Pos) []string {
	t.Helper()
	var got []string
	want := max(from, l.First())
	err := l.Replay(from, func(p wal.Pos, rec []byte) error {
		if p != want {
			return fmt.Errorf("position %d, want %d", p, want)
		}
		want++
		got = append(got, string(rec))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAppendReplayReopen(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for round := range 5 {
		l := open(t, dir, wal.Options{SegmentBytes: 2000})
		for i := range 100 {
			want = append(want, fmt.Sprintf("record %d of round %d", i, round))
			appendRecords(t, l, want[len(want)-1])
		}
		for _, from := range []wal.Pos{0, 1, 57, wal.Pos(len(want)), wal.Pos(len(want)) + 1} {
			got := records(t, l, from)
			if fmt.Sprint(got) != fmt.Sprint(want[max(from, 1)-1:]) {
				t.Fatalf("from %d: got %d records, want %d", from, len(got), len(want)-int(max(from, 1))+1)
			}
		}
		if err := l.Replay(wal.Pos(len(want))+2, nil); !errors.Is(err, wal.ErrHole) {
			t.Errorf("replay behind the end: got %v, want ErrHole", err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestParseID: an id is read back from its text, and nothing else is an id.
func TestParseID(t *testing.T) {
	id := wal.ID{1, 0xfe, 15: 0x80}
	if got, err := wal.ParseID(id.String()); err != nil || got != id {
		t.Errorf("%s is read as %v, %v", id, got, err)
	}
	for _, text := range []string{"", "ab", id.String()[1:], id.String() + "00", "x" + id.String()[1:], id.String() + "\n"} {
		if got, err := wal.ParseID(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
