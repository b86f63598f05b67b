package core_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A state record that is missing is damage of its series. It was taken for a group without series:
// the store could not be opened if the log had samples of one, and else the series were not found.
func TestMissingStateIsDamage(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	ref := mustCreate(t, s, "x", definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:100"))
	mustClose(t, s.Checkpoint(context.Background()))
	var b core.Batch
	b.Add(ref, rra.Seconds(programStart+10), rra.Int(1))
	mustAppend(t, s, &b)
	mustClose(t, s.Abandon())
	damageDB(t, dir, func(tx *bolt.Tx) error {
		k, _ := tx.Bucket([]byte("state")).Cursor().First()
		return tx.Bucket([]byte("state")).Delete(bytes.Clone(k))
	})
	for _, o := range []core.Options{{}, {NoBackground: true}, {ReadOnly: true}} {
		s := mustOpen(t, dir, o)
		if _, err := s.Last(ref); !errors.Is(err, core.ErrDamaged) || !strings.Contains(err.Error(), "missing") {
			t.Errorf("%+v: %v", o, err)
		}
		mustClose(t, s.Close())
	}
}

// A state that is made anew does not know what came between the last row that was stored and the
// next reading: that time stays unknown, also where the reading alone would fill it, and a copy of
// the series knows no better.
func TestRepairedStateSaysNothingOfLostTime(t *testing.T) {
	ctx := context.Background()
	s := mustOpen(t, t.TempDir(), core.Options{NoBackground: true})
	ref := mustCreate(t, s, "x", definition(t, "DS:a:GAUGE:1000:U:U", "RRA:AVERAGE:0.5:1:100"))
	for i := range int64(36) {
		var b core.Batch
		b.Add(ref, rra.Seconds(programStart+10*(i+1)), rra.Int(i))
		mustAppend(t, s, &b)
	}
	var backup bytes.Buffer // what is restored has no log of the time before
	mustClose(t, s.Checkpoint(ctx))
	mustClose(t, s.Backup(ctx, &backup))
	mustClose(t, s.Close())
	dir := filepath.Join(t.TempDir(), "restored")
	mustClose(t, core.Restore(&backup, dir))
	damageDB(t, dir, func(tx *bolt.Tx) error {
		k, _ := tx.Bucket([]byte("state")).Cursor().First()
		return tx.Bucket([]byte("state")).Delete(bytes.Clone(k))
	})
	got, err := core.Repair(ctx, dir, core.Options{})
	if err != nil || len(got.Left) > 0 || len(got.Lost) != 1 || !strings.Contains(got.Lost[0], `series "x": its state is lost`) {
		t.Fatalf("%+v, %v", got, err)
	}
	s = mustOpen(t, dir, core.Options{NoBackground: true})
	last, err := s.Last(ref)
	if err != nil || last < rra.Seconds(programStart) || last >= rra.Seconds(programStart+360) {
		t.Fatalf("last update %v, %v: open rows were not lost", last, err)
	}
	if ref, err = s.Alter(ctx, "x", func(c core.Copy) (core.Copy, error) {
		return core.Copy{Path: c.Path, Definition: c.Definition, State: c.State, Rows: c.Rows}, nil
	}); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s.Abandon())
	s = mustOpen(t, dir, core.Options{NoBackground: true})
	for i := range int64(2) {
		var b core.Batch
		b.Add(ref, rra.Seconds(programStart+10*(40+i)), rra.Int(777))
		mustAppend(t, s, &b)
	}
	rows, err := s.Fetch(ctx, ref, 0, programStart, programStart+410)
	if err != nil {
		t.Fatal(err)
	}
	stored := (last - rra.Seconds(programStart)) / rra.Seconds(10)
	for i, v := range rows.Values {
		switch {
		case i < int(stored) && v != float64(i), i >= int(stored) && i < 40 && !math.IsNaN(v), i == 40 && v != 777:
			t.Errorf("row %d: %v", i, v)
		}
	}
	mustClose(t, s.Close())
}
