package core_test

import (
	"bytes"
	"context"
	"maps"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
)

// mustCheck fails if a check of the store in dir finds something, and if a further repair does.
func mustCheck(t *testing.T, dir string) {
	t.Helper()
	before := files(t, dir)
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	if ps, err := s.Check(context.Background()); err != nil || len(ps) > 0 {
		t.Errorf("check after the repair: %v, %v", ps, err)
	}
	mustClose(t, s.Close())
	if got, err := core.Repair(context.Background(), dir, core.Options{}); err != nil || got.Aside != "" || len(got.Found) > 0 {
		t.Errorf("a second repair: %+v, %v", got, err)
	}
	if after := files(t, dir); len(after) != len(before) {
		t.Errorf("a second repair made a file: %v, before %v", after, before)
	}
}

// A series whose name and record were lost, and that only its state still had, was found by every
// check after the repair: nothing ended it.
func TestRepairLeftStateWithoutName(t *testing.T) {
	x := newShortLog(t)
	want := x.tell(x.s)
	mustClose(t, x.s.Abandon())
	damageDB(t, x.dir, func(tx *bolt.Tx) error {
		for _, bucket := range []string{"names", "series", "labels"} {
			k, _ := tx.Bucket([]byte(bucket)).Cursor().First()
			if err := tx.Bucket([]byte(bucket)).Delete(bytes.Clone(k)); err != nil {
				return err
			}
		}
		return nil
	})
	got, err := core.Repair(context.Background(), x.dir, core.Options{})
	if err != nil || len(got.Left) > 0 || len(got.Lost) != 1 || !strings.Contains(got.Lost[0], "series 0x100000000: its name is lost") {
		t.Errorf("%+v, %v", got, err)
	}
	mustCheck(t, x.dir)
	s := mustOpen(t, x.dir, core.Options{NoBackground: true})
	delete(want, "a")
	if have := x.tell(s); !maps.Equal(have, want) || int(s.Stats().Series) != len(want) {
		t.Errorf("%d series: %.300v, want %.300v", s.Stats().Series, have, want)
	}
	mustClose(t, s.Close())
}

// State records, row blocks and rows in lag that no series can have were left for ever too.
func TestRepairLeftWhatNoSeriesHas(t *testing.T) {
	x := newShortLog(t)
	want := x.tell(x.s)
	mustClose(t, x.s.Abandon())
	damageDB(t, x.dir, func(tx *bolt.Tx) error {
		_, state := tx.Bucket([]byte("state")).Cursor().First()
		for bucket, keys := range map[string][]string{
			"state": {"x", "\x00\x00\x00\x01\x00\x00\x00\x07", "\x00\x00\x00\x09\x00\x00\x00\x00"},
			"rows":  {"x", "\x00\x00\x00\x09" + strings.Repeat("\x00", 16), "\x00\x00\x00\x01" + strings.Repeat("\x00", 16)},
			"lag":   {"x", "\x00\x00\x00\x09" + strings.Repeat("\x00", 16), "\x00\x00\x00\x01" + strings.Repeat("\x00", 16)},
		} {
			for _, k := range keys {
				v := []byte{}
				if bucket == "state" {
					v = bytes.Clone(state[:len(state)-4])
				}
				if err := tx.Bucket([]byte(bucket)).Put([]byte(k), sealed(bucket, []byte(k), v)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	got, err := core.Repair(context.Background(), x.dir, core.Options{})
	if err != nil || len(got.Left) > 0 || len(got.Lost) != 9 {
		t.Errorf("%d lost of 9: %+v, %v", len(got.Lost), got, err)
	}
	mustCheck(t, x.dir)
	s := mustOpen(t, x.dir, core.Options{NoBackground: true})
	if have := x.tell(s); !maps.Equal(have, want) {
		t.Errorf("%.300v, want %.300v", have, want)
	}
	mustClose(t, s.Close())
}

// vanish removes all that tells of the series c: its name, its record, its labels and its state.
func vanish(t *testing.T, dir string) {
	t.Helper()
	damageDB(t, dir, func(tx *bolt.Tx) error {
		names := tx.Bucket([]byte("names"))
		ref := bytes.Clone(names.Get([]byte("c"))[:8])
		for bucket, prefix := range map[string]string{"names": "c", "series": string(ref), "labels": "n\x00c\x00", "state": string(ref[:4])} {
			b, removed := tx.Bucket([]byte(bucket)), 0
			for _, k := range keysOf(b) {
				if strings.HasPrefix(string(k), prefix) {
					mustClose(t, b.Delete(k))
					removed++
				}
			}
			if removed != 1 {
				t.Errorf("%d keys of %s are removed", removed, bucket)
			}
		}
		return nil
	})
}

// A series whose name, record and state were lost was gone without a word. The database was not
// made anew from the log either, although the log had everything.
func TestRepairForgotSeriesThatNothingNames(t *testing.T) {
	ctx := context.Background()
	x := &shortLog{t: t, dir: t.TempDir()}
	x.s = mustOpen(t, x.dir, core.Options{NoBackground: true})
	x.create("a", "b", "c", "d", "e")
	x.feed(150)
	mustClose(t, x.s.Checkpoint(ctx))
	x.feed(20)
	want := x.tell(x.s)
	mustClose(t, x.s.Abandon())
	vanish(t, x.dir)
	got, err := core.Repair(ctx, x.dir, core.Options{})
	if err != nil || len(got.Left)+len(got.Lost) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
	s := mustOpen(t, x.dir, core.Options{NoBackground: true})
	if have := x.tell(s); !maps.Equal(have, want) {
		t.Errorf("%.300v, want %.300v: %+v", have, want, got)
	}
	mustClose(t, s.Close())
	mustCheck(t, x.dir)

	const counted = "1 of 5 series: their names and records are lost"
	for _, is := range []struct {
		change func(s *core.Store) error // in the log, behind the catalogue
		same   []string
		told   []string
	}{
		{func(*core.Store) error { return nil }, []string{"a", "b", "d", "e"}, []string{counted}},
		{
			func(s *core.Store) error { return s.Rename(ctx, "c", "cc") },
			[]string{"a", "b", "d", "e"},
			[]string{counted, `series "c", which the log renames to "cc", is not there`},
		},
		{
			func(s *core.Store) error {
				_, err := s.Alter(ctx, "c", func(c core.Copy) (core.Copy, error) { return c, nil })
				return err
			},
			[]string{"a", "b", "c", "d", "e"},
			nil,
		},
	} {
		x := newShortLog(t)
		mustClose(t, is.change(x.s))
		x.feed(5)
		want := x.tell(x.s)
		mustClose(t, x.s.Abandon())
		vanish(t, x.dir)
		got, err := core.Repair(ctx, x.dir, core.Options{})
		if err != nil || len(got.Left) > 0 {
			t.Errorf("%+v, %v", got, err)
		}
		report := strings.Join(got.Lost, "\n")
		for _, told := range is.told {
			if !strings.Contains(report, told) {
				t.Errorf("the report does not say %q: %s", told, report)
			}
		}
		if len(is.told) == 0 && strings.Contains(report, "of 5 series") {
			t.Errorf("the log has all of c, and the report says: %s", report)
		}
		s := mustOpen(t, x.dir, core.Options{NoBackground: true})
		have := x.tell(s)
		if len(have) != len(is.same) || int(s.Stats().Series) != len(have) {
			t.Errorf("%d series are there, %d are counted, want %q", len(have), s.Stats().Series, is.same)
		}
		for _, path := range is.same {
			if have[path] != want[path] {
				t.Errorf("%s: %.300s, want %.300s: %+v", path, have[path], want[path], got)
			}
		}
		mustClose(t, s.Close())
		mustCheck(t, x.dir)
	}
}
