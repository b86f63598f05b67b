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
