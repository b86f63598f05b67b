package core_test

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A hurtRows is a copy of a store that stopped in a checkpoint, after the groups were written and
// before the catalogue was. The first row block has rows of two series: row k of series i is
// 1000*i+k.
type hurtRows struct {
	t     *testing.T
	dir   string
	paths [2]string
}

const hurtRowCount = 200

// stoppedCheckpoint makes it; change is called between the last two checkpoints.
func stoppedCheckpoint(t *testing.T, paths [2]string, before, change func(s *core.Store)) *hurtRows {
	t.Helper()
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	before(s)
	mustClose(t, s.Checkpoint(context.Background()))
	change(s)
	x := &hurtRows{t: t, paths: paths}
	s.SetHook(func(name string) {
		if name == "checkpoint-groups" && x.dir == "" {
			x.dir = copyStore(t, dir)
		}
	})
	mustClose(t, s.Checkpoint(context.Background()))
	s.SetHook(nil)
	mustClose(t, s.Close())
	if n := x.known(x.dir); n != [2]int{hurtRowCount, hurtRowCount} {
		t.Fatalf("the sound copy has %v rows", n)
	}
	return x
}

func hurtDefinition(t *testing.T) *rra.Definition {
	return definition(t, "DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:1000")
}

// feedRows appends the readings of a pair of series.
func feedRows(t *testing.T, s *core.Store, refs [2]core.Ref) {
	var b core.Batch
	for k := range int64(hurtRowCount) {
		for i, ref := range refs {
			b.Add(ref, rra.Seconds(programStart+10*(k+1)), rra.Int(1000*int64(i)+k))
		}
	}
	mustAppend(t, s, &b)
}

// known counts the rows that can be read of each series; -1: they are damaged. It fails if one is
// wrong.
func (x *hurtRows) known(dir string) (n [2]int) {
	x.t.Helper()
	s := mustOpen(x.t, dir, core.Options{NoBackground: true})
	defer func() { mustClose(x.t, s.Close()) }()
	for i, path := range x.paths {
		ref, err := s.Lookup(path)
		if err != nil {
			x.t.Fatal(err)
		}
		rows, err := s.Fetch(context.Background(), ref, 0, programStart, programStart+10*hurtRowCount)
		if err != nil {
			n[i] = -1
			continue
		}
		for k, v := range rows.Values {
			if math.IsNaN(v) {
				continue
			}
			n[i]++
			if v != float64(1000*i+k) {
				x.t.Errorf("%s row %d: %v", path, k, v)
			}
		}
	}
	return n
}

// flips damages every byte of the first row block in turn. The repair keeps what could be read
// before it, and takes the rest from the log.
func (x *hurtRows) flips() {
	t := x.t
	var size int
	damageDB(t, copyStore(t, x.dir), func(tx *bolt.Tx) error {
		_, v := tx.Bucket([]byte("rows")).Cursor().First()
		size = len(v)
		return nil
	})
	hurtOnce := false
	for at := range size {
		hurt := copyStore(t, x.dir)
		damageDB(t, hurt, func(tx *bolt.Tx) error {
			k, v := tx.Bucket([]byte("rows")).Cursor().First()
			k, v = bytes.Clone(k), bytes.Clone(v)
			v[at] ^= 0x10
			return tx.Bucket([]byte("rows")).Put(k, v)
		})
		before := x.known(hurt)
		got, err := core.Repair(context.Background(), hurt, core.Options{})
		if err != nil || len(got.Left) > 0 {
			t.Fatalf("byte %d: %v, left %v", at, err, got.Left)
		}
		after := x.known(hurt)
		for i, path := range x.paths {
			hurtOnce = hurtOnce || before[i] < hurtRowCount
			if after[i] < before[i] {
				t.Errorf("byte %d of %d: %s had %d rows, has %d", at, size, path, before[i], after[i])
			}
			if after[i] < hurtRowCount {
				t.Errorf("byte %d of %d: %s has %d rows, and the log has all: lost %q, done %q", at, size, path, after[i], got.Lost, got.Done)
			}
		}
		if t.Failed() {
			return
		}
	}
	if !hurtOnce {
		t.Error("nothing was damaged")
	}
}

// reported says whether a line of a report names a series.
func reported(lines []string, path string) bool {
	return slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, strconv.Quote(path)) })
}

// A repair threw the rows of a series away that was made after the catalogue was written last: it
// kept columns of series that the catalogue knows, and the report did not say so.
func TestRepairDroppedRowsOfSeriesNewerThanCatalogue(t *testing.T) {
	var refs [2]core.Ref
	stoppedCheckpoint(t, [2]string{"a", "b"}, func(s *core.Store) {
		refs[0] = mustCreate(t, s, "a", hurtDefinition(t))
	}, func(s *core.Store) {
		refs[1] = mustCreate(t, s, "b", hurtDefinition(t))
		feedRows(t, s, refs)
	}).flips()
}

// The same happened to a series that was altered since. One that was renamed since is told of by
// the name that it has now.
func TestRepairDroppedRowsOfSeriesAlteredSinceCatalogue(t *testing.T) {
	var refs [2]core.Ref
	stoppedCheckpoint(t, [2]string{"a", "c"}, func(s *core.Store) {
		refs[0] = mustCreate(t, s, "a", hurtDefinition(t))
		refs[1] = mustCreate(t, s, "b", hurtDefinition(t))
	}, func(s *core.Store) {
		feedRows(t, s, refs)
		mustClose(t, s.Rename(context.Background(), "b", "c"))
		if _, err := s.Alter(context.Background(), "a", func(c core.Copy) (core.Copy, error) { return c, nil }); err != nil {
			t.Fatal(err)
		}
	}).flips()
}
