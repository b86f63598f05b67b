package core_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A shortLog is a store that was restored from a backup, so that its log lacks the time before.
type shortLog struct {
	t    *testing.T
	dir  string
	s    *core.Store
	step int64
}

// The series of a shortLog have definitions of their own, some of them one class.
var shortDefinitions = map[string][]string{
	"a": {"DS:x:GAUGE:30:U:U", "RRA:AVERAGE:0.5:1:100", "RRA:MAX:0.5:6:50"},
	"b": {"DS:x:COUNTER:30:U:U", "RRA:AVERAGE:0.5:1:100", "RRA:MAX:0.5:6:50"},
	"c": {"DS:x:GAUGE:30:U:U", "DS:y:GAUGE:30:U:U", "RRA:LAST:0.5:1:100"},
	"d": {"DS:x:DERIVE:30:U:U", "RRA:MIN:0.5:1:70"},
	"e": {"DS:x:DERIVE:40:U:U", "RRA:MIN:0.5:1:70"},
}

// newShortLog has the series a, b and c from the time before, and d and e from after it.
func newShortLog(t *testing.T) *shortLog {
	ctx := context.Background()
	x := &shortLog{t: t, s: mustOpen(t, t.TempDir(), core.Options{NoBackground: true})}
	x.create("a", "b", "c")
	x.feed(200)
	var backup bytes.Buffer
	mustClose(t, x.s.Checkpoint(ctx))
	mustClose(t, x.s.Backup(ctx, &backup))
	mustClose(t, x.s.Close())
	x.dir = filepath.Join(t.TempDir(), "restored")
	mustClose(t, core.Restore(&backup, x.dir))
	x.s = mustOpen(t, x.dir, core.Options{NoBackground: true})
	x.create("d", "e")
	x.feed(150)
	mustClose(t, x.s.Checkpoint(ctx))
	x.feed(20)
	return x
}

func (x *shortLog) create(paths ...string) {
	x.t.Helper()
	for _, path := range paths {
		_, err := x.s.Create(context.Background(), core.Spec{
			Path: path, Labels: []core.Label{{Name: "n", Value: path}},
			Definition: definition(x.t, shortDefinitions[path]...), Start: rra.Seconds(programStart + 10*x.step),
		})
		mustClose(x.t, err)
	}
}

// feed gives every series n readings.
func (x *shortLog) feed(n int64) {
	x.t.Helper()
	for range n {
		x.step++
		var b core.Batch
		for _, path := range x.paths(x.s) {
			ref, err := x.s.Lookup(path)
			mustClose(x.t, err)
			info, err := x.s.Series(ref)
			mustClose(x.t, err)
			values := make([]rra.Value, len(info.Definition.Sources))
			for i := range values {
				values[i] = rra.Int(x.step*x.step + int64(i) + int64(path[0]))
			}
			b.Add(ref, rra.Seconds(programStart+10*x.step), values...)
		}
		mustAppend(x.t, x.s, &b)
	}
}

func (x *shortLog) paths(s *core.Store) (paths []string) {
	x.t.Helper()
	for is, err := range s.List(context.Background(), "", "") {
		mustClose(x.t, err)
		paths = append(paths, is.Path)
	}
	return paths
}

// tell is all that a store says of each series.
func (x *shortLog) tell(s *core.Store) map[string]string {
	x.t.Helper()
	out := make(map[string]string)
	for _, path := range x.paths(s) {
		ref, err := s.Lookup(path)
		mustClose(x.t, err)
		c, err := s.Export(context.Background(), ref)
		mustClose(x.t, err)
		var found []string
		for is, err := range s.Select(context.Background(), []core.Matcher{{Name: "n", Value: path}}) {
			mustClose(x.t, err)
			found = append(found, is.Path)
		}
		out[path] = fmt.Sprint(ref, c.Labels, *c.Definition, c.State, c.Rows, found)
	}
	return out
}

// loses damages definitions of a copy, repairs it and says which series are gone. The others are as
// they were.
func (x *shortLog) loses(damage func(b *bolt.Bucket, keys [][]byte) error) (lost []string) {
	t := x.t
	t.Helper()
	hurt := copyStore(t, x.dir)
	damageDB(t, hurt, func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("defs"))
		return damage(b, keysOf(b))
	})
	got, err := core.Repair(context.Background(), hurt, core.Options{})
	if err != nil || len(got.Left) > 0 || got.Aside == "" {
		t.Fatalf("%+v, %v", got, err)
	}
	mustCheck(t, hurt)
	twin := mustOpen(t, copyStore(t, x.dir), core.Options{NoBackground: true})
	want := x.tell(twin)
	mustClose(t, twin.Close())
	s := mustOpen(t, hurt, core.Options{NoBackground: true})
	have := x.tell(s)
	for path := range want {
		switch {
		case have[path] == "":
			lost = append(lost, path)
			if !reported(got.Lost, path) {
				t.Errorf("%s is lost, and nobody says so: %+v", path, got)
			}
		case have[path] != want[path]:
			t.Errorf("%s: %.300s, want %.300s", path, have[path], want[path])
		}
	}
	if n := s.Stats().Series; int(n) != len(have) {
		t.Errorf("%d series are counted, %d are there", n, len(have))
	}
	// Series of the lost definitions can be made again, and go on with the others.
	y := &shortLog{t: t, dir: hurt, s: s, step: x.step}
	slices.Sort(lost)
	for _, path := range lost {
		if shortDefinitions[path] != nil {
			y.create(path)
		}
	}
	y.feed(120)
	said := y.tell(y.s)
	mustClose(t, y.s.Abandon())
	for range 2 {
		s = mustOpen(t, hurt, core.Options{NoBackground: true})
		if again := y.tell(s); fmt.Sprint(again) != fmt.Sprint(said) {
			t.Errorf("after another start: %.300v, want %.300v", again, said)
		}
		mustClose(t, s.Checkpoint(context.Background()))
		mustClose(t, s.Close())
	}
	mustCheck(t, hurt)
	return lost
}

// A damaged definition made the repair refuse a database, although the log had it. Now it comes
// from the log. Where the log does not have it, its series are lost, and the others are as they
// were.
func TestRepairRefusedDamagedDefinition(t *testing.T) {
	x := newShortLog(t)
	mustClose(t, x.s.Abandon())
	for at, want := range []string{"a", "b", "c", "", ""} {
		for _, way := range []string{"flipped", "removed"} {
			lost := x.loses(func(b *bolt.Bucket, keys [][]byte) error {
				if len(keys) != 5 {
					t.Fatalf("%d definitions", len(keys))
				}
				if way == "removed" {
					return b.Delete(keys[at])
				}
				v := bytes.Clone(b.Get(keys[at]))
				v[len(v)/3] ^= 4
				return b.Put(keys[at], v)
			})
			if strings.Join(lost, " ") != want {
				t.Errorf("definition %d %s: series %q are lost, want %q", at+1, way, lost, want)
			}
		}
	}
	if lost := x.loses(func(b *bolt.Bucket, keys [][]byte) error {
		for _, k := range keys {
			mustClose(t, b.Delete(k))
		}
		return b.Put([]byte("x"), []byte("y"))
	}); strings.Join(lost, " ") != "a b c" {
		t.Errorf("series %q are lost", lost)
	}
}

// What the log does with a series whose definition is lost happens while the log is replayed: names
// and numbers of all others are given as they were.
func TestRepairReplaysLogWithLostDefinition(t *testing.T) {
	x := newShortLog(t)
	ctx := context.Background()
	replaced := func(path string, overwrite bool) {
		_, err := x.s.Create(ctx, core.Spec{Path: path, Definition: definition(t, shortDefinitions["b"]...), Start: rra.Seconds(programStart + 10*x.step), Overwrite: overwrite})
		mustClose(t, err)
	}
	if _, err := x.s.Alter(ctx, "a", func(c core.Copy) (core.Copy, error) { return c, nil }); err != nil {
		t.Fatal(err)
	}
	replaced("bb", false)
	x.feed(5)
	mustClose(t, x.s.Rename(ctx, "c", "cc"))
	if out, err := x.s.Relabel(ctx, []core.PathLabels{{Path: "b", Labels: []core.Label{{Name: "n", Value: "z"}}}}); err != nil || out[0] != nil {
		t.Fatal(out, err)
	}
	replaced("cd", true)
	x.feed(5)
	mustClose(t, x.s.Abandon())
	lose := func(ids ...int) string {
		return strings.Join(x.loses(func(b *bolt.Bucket, keys [][]byte) error {
			for _, id := range ids {
				mustClose(t, b.Delete(keys[id-1]))
			}
			return nil
		}), " ")
	}
	for _, c := range []struct {
		ids  []int
		want string
	}{
		{[]int{1}, ""}, // the copy that altered a is in the log, with its definition
		{[]int{2}, "b"},
		{[]int{3}, "cc"},
		{[]int{1, 2, 3, 4, 5}, "b cc"},
	} {
		if lost := lose(c.ids...); lost != c.want {
			t.Errorf("definitions %v: series %q are lost, want %q", c.ids, lost, c.want)
		}
	}
}

// A series was forgotten before the log was replayed if its name and its record were lost, or its
// record and its state. A copy in the log that took its place was then refused, and the series that
// were made later got the numbers of others, with their samples; or the store was refused.
func TestRepairReplaysLogWithLostSeries(t *testing.T) {
	x := newShortLog(t)
	ctx := context.Background()
	if _, err := x.s.Alter(ctx, "a", func(c core.Copy) (core.Copy, error) { return c, nil }); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"b1", "b2"} {
		_, err := x.s.Create(ctx, core.Spec{Path: path, Definition: definition(t, shortDefinitions["b"]...), Start: rra.Seconds(programStart + 10*x.step)})
		mustClose(t, err)
		x.feed(3)
	}
	mustClose(t, x.s.Rename(ctx, "c", "cc"))
	want := x.tell(x.s)
	mustClose(t, x.s.Abandon())
	for _, c := range []struct {
		buckets []string // where the first key is lost
		same    []string
	}{
		{[]string{"names", "series", "labels"}, []string{"a", "b", "b1", "b2", "cc", "d", "e"}},
		{[]string{"series", "state"}, []string{"a", "b1", "b2", "cc", "d", "e"}},
	} {
		hurt := copyStore(t, x.dir)
		damageDB(t, hurt, func(tx *bolt.Tx) error {
			for _, bucket := range c.buckets {
				k, _ := tx.Bucket([]byte(bucket)).Cursor().First()
				mustClose(t, tx.Bucket([]byte(bucket)).Delete(bytes.Clone(k)))
			}
			return nil
		})
		got, err := core.Repair(ctx, hurt, core.Options{})
		if err != nil || len(got.Left) > 0 {
			t.Errorf("%v: %+v, %v", c.buckets, got, err)
			continue
		}
		mustCheck(t, hurt)
		s := mustOpen(t, hurt, core.Options{NoBackground: true})
		have := x.tell(s)
		mustClose(t, s.Close())
		for _, path := range c.same {
			if have[path] != want[path] {
				t.Errorf("%v: %s: %.300s, want %.300s", c.buckets, path, have[path], want[path])
			}
		}
	}
}

// A repair ended in a panic if a definition was lost and rows of its series were damaged, in a slot
// whose other rows came from the log.
func TestRepairPanickedOnRowsOfLostDefinition(t *testing.T) {
	x := newShortLog(t)
	ctx := context.Background()
	_, err := x.s.Create(ctx, core.Spec{
		Path: "f", Labels: []core.Label{{Name: "n", Value: "f"}}, Start: rra.Seconds(programStart + 10*x.step),
		Definition: definition(t, "DS:x:ABSOLUTE:30:U:U", "RRA:AVERAGE:0.5:1:100", "RRA:MAX:0.5:6:50"), // of the class of a and b
	})
	mustClose(t, err)
	x.feed(150)
	mustClose(t, x.s.Checkpoint(ctx))
	mustClose(t, x.s.Abandon())
	lost := x.loses(func(b *bolt.Bucket, keys [][]byte) error {
		rows, damaged := b.Tx().Bucket([]byte("rows")), 0
		for _, k := range keysOf(rows) {
			v := bytes.Clone(rows.Get(k))
			columns, width := int(binary.LittleEndian.Uint16(v[1:])), int(v[3])
			if binary.BigEndian.Uint32(k) == 1 && columns == 3 { // a, b and f
				v[8+(width+4)+width] ^= 1 // the checksum of the column of b
				mustClose(t, rows.Put(k, v))
				damaged++
			}
		}
		if damaged == 0 {
			t.Fatal("no row block has all three series")
		}
		return b.Delete(keys[1])
	})
	if len(lost) != 1 || lost[0] != "b" {
		t.Errorf("series %q are lost", lost)
	}
}
