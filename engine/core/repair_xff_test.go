package core_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A row of which the lost state had gathered a part was made of the rest alone where xff let it: a
// maximum of 1 where it was 1000. So was a PDP of which not more than half was lost. Readings are
// offset microseconds off the full step; counters go on from the first reading.
func TestRepairMadeRowsOfWhatWasLeft(t *testing.T) {
	for _, offset := range []int64{0, 3e6, 2500000} {
		for _, next := range []int64{200, 219, 239, 250} {
			for _, every := range []int64{1, 3} {
				t.Run(fmt.Sprintf("%d/%d/%d", offset, next, every), func(t *testing.T) { resumeAfter(t, offset, next, every) })
			}
		}
	}
}

// resumeAfter feeds a series up to step 200, loses its state in one copy, goes on at step next in
// both, and holds one against the other.
func resumeAfter(t *testing.T, offset, next, every int64) {
	ctx := context.Background()
	s := mustOpen(t, t.TempDir(), core.Options{NoBackground: true})
	start := int64(programStart)/600*600 + 600
	def := definition(t, "DS:a:GAUGE:2000:U:U", "DS:b:COUNTER:2000:U:U", "DS:c:ABSOLUTE:2000:U:U", "DS:d:DDERIVE:2000:U:U", "DS:e:COMPUTE:a,UN,1,0,IF",
		"RRA:AVERAGE:0.5:1:1000", "RRA:MAX:0.5:60:100", "RRA:AVERAGE:0.5:60:100", "RRA:MIN:0.9:20:100", "RRA:LAST:0.9:12:100",
		"RRA:AVERAGE:0:60:100")
	def.Archives[3].XFF = math.Nextafter(1, 0) // times the PDPs of a row it is all of them
	ref := mustCreateAt(t, s, "x", def, start)
	feed := func(s *core.Store, from, to, every int64) {
		for i := from; i < to; i += every {
			v := int64(1)
			if i%60 < 20 {
				v = 1000
			}
			var b core.Batch
			b.Add(ref, rra.Seconds(start+10*(i+1))+rra.Time(offset), rra.Int(v), rra.Int(v+2000*i), rra.Int(v), rra.Int(v+2000*i))
			mustAppend(t, s, &b)
		}
	}
	feed(s, 0, 200, 1)
	var backup bytes.Buffer // what is restored has no log of the time before
	mustClose(t, s.Checkpoint(ctx))
	mustClose(t, s.Backup(ctx, &backup))
	mustClose(t, s.Close())
	show := func(hurt bool) (out [][]float64) {
		dir := filepath.Join(t.TempDir(), "restored")
		mustClose(t, core.Restore(bytes.NewReader(backup.Bytes()), dir))
		if hurt {
			damageDB(t, dir, func(tx *bolt.Tx) error {
				k, _ := tx.Bucket([]byte("state")).Cursor().First()
				return tx.Bucket([]byte("state")).Delete(bytes.Clone(k))
			})
			if got, err := core.Repair(ctx, dir, core.Options{}); err != nil || len(got.Left) > 0 || len(got.Lost) != 1 {
				t.Fatalf("%+v, %v", got, err)
			}
		}
		s := mustOpen(t, dir, core.Options{NoBackground: true})
		feed(s, next, next+240, every)
		for a := range 6 {
			rows, err := s.Fetch(ctx, ref, a, start, start+6000)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, rows.Values)
		}
		mustClose(t, s.Close())
		return out
	}
	want, got := show(false), show(true)
	first := 10*(next+1) + (offset+999999)/1e6
	for a, all := range want {
		span := 10 * def.Archives[a].PDPs
		again := 0
		for i, v := range all {
			k, u := int64(i/len(def.Sources)), got[a][i]
			switch known := k*span >= first; { // of rows that begin after the first reading nothing is lost
			case math.IsNaN(v) && math.IsNaN(u), !known && math.IsNaN(u):
			case math.Float64bits(u) != math.Float64bits(v):
				t.Errorf("archive %d row %d source %d: %v, it was %v", a, k, i%len(def.Sources), u, v)
			case known:
				again++
			}
		}
		if again == 0 {
			t.Errorf("archive %d: no row is known again", a)
		}
	}
}
