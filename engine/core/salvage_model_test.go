package core_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// A salvageRun makes a random store, damages a copy of it, salvages that, and compares the two.
type salvageRun struct {
	t     *testing.T
	r     *rand.Rand
	dir   string
	s     *core.Store
	o     core.Options
	paths []string
	step  int64 // of time
	made  int
}

// Shapes whose rows hold one number or none, whatever was stored last.
var salvageShapes = [][]string{
	{"DS:a:GAUGE:50:U:U", "RRA:AVERAGE:0:1:60", "RRA:MAX:0:3:60"},
	{"DS:a:COUNTER:50:U:U", "RRA:AVERAGE:0:1:60", "RRA:MAX:0:3:60"},
	{"DS:a:ABSOLUTE:50:U:U", "DS:b:DERIVE:50:U:U", "RRA:AVERAGE:0:1:200", "RRA:LAST:0:6:40"},
	{"DS:a:GAUGE:50:U:U", "RRA:MAX:0.5:1:60", "RRA:MAX:0.5:7:60", "RRA:AVERAGE:0.99:12:30", "RRA:LAST:0.5:4:60", "RRA:MIN:0.9:30:20"},
	{"DS:a:COUNTER:50:U:U", "DS:b:COMPUTE:a,UN,7,a,IF", "RRA:AVERAGE:0.5:1:60", "RRA:AVERAGE:0.5:9:60"},
	{"DS:a:GAUGE:50:U:U", "RRA:HWPREDICT:60:0.1:0.1:5"},
}

func (x *salvageRun) open() {
	x.o = core.Options{NoBackground: true, Reorder: time.Duration(x.r.IntN(2)*x.r.IntN(40)) * time.Second}
	x.s = mustOpen(x.t, x.dir, x.o)
}

// play does a number of random things.
func (x *salvageRun) play(n int) {
	t, r, ctx := x.t, x.r, context.Background()
	for range n {
		switch k := r.IntN(40); {
		case k == 0 || len(x.paths) < 4:
			path := fmt.Sprintf("s%d", x.made)
			x.made++
			mustCreateAt(t, x.s, path, definition(t, salvageShapes[r.IntN(len(salvageShapes))]...), x.now())
			x.paths = append(x.paths, path)
		case k == 1:
			i := r.IntN(len(x.paths))
			mustClose(t, core.Drop(ctx, x.s, x.paths[i]))
			x.paths = slices.Delete(x.paths, i, i+1)
		case k == 2:
			i := r.IntN(len(x.paths))
			to := fmt.Sprintf("r%d", x.made)
			x.made++
			mustClose(t, x.s.Rename(ctx, x.paths[i], to))
			x.paths[i] = to
		case k == 3:
			if _, err := x.s.Alter(ctx, x.paths[r.IntN(len(x.paths))], func(c core.Copy) (core.Copy, error) { return c, nil }); err != nil {
				t.Fatal(err)
			}
		case k < 7:
			mustClose(t, x.s.Checkpoint(ctx))
		default:
			x.feed(x.s)
		}
	}
}

func (x *salvageRun) now() int64 { return programStart + 10*x.step }

// feed gives most series a reading at the next step, to all of stores alike.
func (x *salvageRun) feed(stores ...*core.Store) {
	x.step += 1 + int64(x.r.IntN(20)/19)*int64(x.r.IntN(100))
	var silent []bool
	for range x.paths {
		silent = append(silent, x.r.IntN(4) == 0)
	}
	v := int64(x.r.IntN(1000))
	for _, s := range stores {
		var b core.Batch
		for i, path := range x.paths {
			ref, err := s.Lookup(path)
			if err != nil {
				x.t.Fatal(err)
			}
			if silent[i] {
				continue
			}
			info, err := s.Series(ref)
			if err != nil {
				x.t.Fatal(err)
			}
			inputs := slices.DeleteFunc(slices.Clone(info.Definition.Sources), func(ds rra.DataSource) bool { return ds.Kind == rra.Compute })
			values := make([]rra.Value, len(inputs))
			for j := range values {
				values[j] = rra.Int(1000*x.step + v + int64(i*j))
			}
			b.Add(ref, rra.Seconds(x.now()), values...)
		}
		mustAppend(x.t, s, &b)
	}
}

// rows are all rows of all archives of a series.
func (x *salvageRun) rows(s *core.Store, path string) [][]float64 {
	ref, err := s.Lookup(path)
	if err != nil {
		x.t.Fatal(err)
	}
	info, err := s.Info(ref)
	if err != nil {
		x.t.Fatal(path, err)
	}
	var out [][]float64
	for i, a := range info.Definition.Archives {
		span := a.PDPs * info.Definition.Step
		end := x.now() / span * span
		rows, err := s.Fetch(context.Background(), ref, i, end-a.Rows*span, end)
		if err != nil {
			x.t.Fatal(path, err)
		}
		out = append(out, slices.Clone(rows.Values))
	}
	return out
}

// compare says whether all is equal, and fails if a number is wrong.
func (x *salvageRun) compare(path string, got, want *core.Store) bool {
	same := true
	g, w := x.rows(got, path), x.rows(want, path)
	for i := range w {
		for k, v := range w[i] {
			switch u := g[i][k]; {
			case math.IsNaN(u) && math.IsNaN(v) || math.Float64bits(u) == math.Float64bits(v):
			case math.IsNaN(u):
				same = false
			default:
				x.t.Errorf("%s archive %d row %d of %d: %v, it was %v", path, i, k-len(w[i]), len(w[i]), u, v)
				return false
			}
		}
	}
	return same
}

// damage flips a bit of values of a bucket, or removes them, each with a chance of one in n.
func (x *salvageRun) damage(dir, bucket string, n int) (hit int) {
	damageDB(x.t, dir, func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		for _, k := range keysOf(b) {
			if x.r.IntN(n) > 0 {
				continue
			}
			hit++
			v := bytes.Clone(b.Get(k))
			if x.r.IntN(2) == 0 {
				if err := b.Delete(k); err != nil {
					return err
				}
				continue
			}
			v[x.r.IntN(len(v))] ^= 1 << x.r.IntN(8)
			if err := b.Put(k, v); err != nil {
				return err
			}
		}
		return nil
	})
	return hit
}

// Random stores lose states, rows and entries of the catalogue. What is copied is as it was, or
// unknown; the report names each series that lost something.
func TestSalvageAgainstModel(t *testing.T) { seedtest.Each(t, salvageAgainstModel) }

func salvageAgainstModel(t *testing.T) {
	seed := seedtest.One(t)
	states, blocks, poorer, gone := 0, 0, 0, 0
	rounds := seedtest.Programs(16, 40)
	for round := range uint64(rounds) {
		x := &salvageRun{t: t, r: rand.New(rand.NewPCG(seed, round)), dir: t.TempDir()}
		x.open()
		x.play(20 + x.r.IntN(400))
		mustClose(t, x.s.Abandon())
		hurt := copyStore(t, x.dir)
		n, m, entries := 0, 0, 0
		if x.r.IntN(3) > 0 {
			n = x.damage(hurt, "state", 1+x.r.IntN(3))
		}
		if x.r.IntN(2) == 0 {
			m = x.damage(hurt, "rows", 1+x.r.IntN(8))
		}
		for _, bucket := range []string{"defs", "names", "series", "labels"} {
			if x.r.IntN(4) == 0 {
				entries += x.damage(hurt, bucket, 1+x.r.IntN(4))
			}
		}
		states, blocks = states+n, blocks+m
		to := filepath.Join(t.TempDir(), "new")
		got, err := core.Salvage(context.Background(), hurt, to, x.o)
		if errors.Is(err, core.ErrNothingReads) && entries > 0 {
			continue
		}
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		x.open()
		saved := mustOpen(t, to, x.o)
		report := strings.Join(got.Lost, "\n")
		named := func(path string) bool { return strings.Contains(report, fmt.Sprintf("%q", path)) }
		// What the log alone says of series is lost with the part of it that is not replayed.
		cut := strings.Contains(report, "the log behind position")
		for _, path := range x.paths {
			if _, err := saved.Lookup(path); err != nil {
				gone++
				// Without its record, name and state nothing is left that knows of a series.
				if !named(path) && !cut && (n == 0 || entries == 0) && !strings.Contains(report, "its name and its record are lost") && !strings.Contains(report, "both the name and the record") {
					t.Errorf("round %d: %q is not there, and nobody says so: %s", round, path, report)
				}
				continue
			}
			if !x.compare(path, saved, x.s) {
				poorer++
				if !named(path) && !cut {
					t.Errorf("round %d: rows of %q are lost, and nobody says so: %s", round, path, report)
				}
			}
		}
		if n+m+entries == 0 && (len(got.Lost) > 0 || got.Series != len(x.paths)) {
			t.Errorf("round %d: nothing was damaged: %d of %d series, %s", round, got.Series, len(x.paths), report)
		}
		if ps, err := saved.Check(context.Background()); err != nil || len(ps) > 0 {
			t.Errorf("round %d: %v, %v", round, ps, err)
		}
		if len(got.Lost) == 0 { // then what comes is stored as it would have been
			for range 30 {
				x.feed(saved, x.s)
			}
			for _, path := range x.paths {
				if !x.compare(path, saved, x.s) {
					t.Errorf("round %d: %q is not as it would have been", round, path)
				}
			}
		}
		mustClose(t, saved.Close())
		mustClose(t, x.s.Close())
		_ = os.RemoveAll(hurt) // a folder that stays is the system's to clean
		if t.Failed() {
			t.Fatalf("round %d: %+v", round, got)
		}
	}
	t.Logf("%d states and %d row blocks damaged, %d series lost something, %d all", states, blocks, poorer, gone)
	if rounds >= 16 && (states == 0 || blocks == 0) {
		t.Error("nothing was tried")
	}
}
