package core_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// TestNewestRowsDoNotNeedTheDatabase takes the database's file away under an open store: rows that
// no checkpoint has written yet are read without a transaction, those before them are damaged.
func TestNewestRowsDoNotNeedTheDatabase(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	f := newFeeder(t, s, 1)
	f.mustFeed(400)
	mustClose(t, s.Checkpoint(t.Context()))
	stored, err := s.Last(f.refs[0])
	if err != nil {
		t.Fatal(err)
	}
	f.mustFeed(80)
	last, err := s.Last(f.refs[0])
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.Fetch(t.Context(), f.refs[0], 0, last.Unix()-100, last.Unix())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "rondo.bolt"), 0); err != nil {
		t.Fatal(err)
	}
	got, err := s.Fetch(t.Context(), f.refs[0], 0, last.Unix()-100, last.Unix())
	if err != nil {
		t.Errorf("rows that are in memory: %v", err)
	}
	known := 0
	for i := range want.Values {
		if math.Float64bits(got.Values[i]) != math.Float64bits(want.Values[i]) {
			t.Errorf("value %d: %v, not %v", i, got.Values[i], want.Values[i])
		}
		if want.Values[i] == want.Values[i] {
			known++
		}
	}
	if known == 0 {
		t.Error("all rows are unknown: the test shows nothing")
	}
	if _, err := s.Fetch(t.Context(), f.refs[0], 0, stored.Unix()-2000, last.Unix()); !errors.Is(err, core.ErrDamaged) {
		t.Errorf("rows that are in the database: %v", err)
	}
	_ = s.Close() // it cannot write a checkpoint
}

// TestFetchOfNoRowsIsEmpty: where no row lies between start and end, the values were nil.
func TestFetchOfNoRowsIsEmpty(t *testing.T) {
	s := mustOpen(t, t.TempDir(), core.Options{NoBackground: true})
	f := newFeeder(t, s, 1)
	f.mustFeed(400)
	last, err := s.Last(f.refs[0])
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.Fetch(t.Context(), f.refs[0], 0, last.Unix(), last.Unix())
	if err != nil {
		t.Fatal(err)
	}
	if rows.Values == nil || len(rows.Values) != 0 || rows.Start != rows.End {
		t.Errorf("from %d to %d: values %#v, want none, and not nil", rows.Start, rows.End, rows.Values)
	}
	mustClose(t, s.Close())
}

// TestEachFetchIsCounted counts fetches of one series; most are not timed.
func TestEachFetchIsCounted(t *testing.T) {
	s := mustOpen(t, t.TempDir(), core.Options{NoBackground: true})
	f := newFeeder(t, s, 1)
	f.mustFeed(20)
	for n := range uint64(30) {
		st := s.Stats()
		if got := st.FetchSeconds.Count(); got != n {
			t.Fatalf("%d fetches are counted after %d", got, n)
		}
		if n > 0 && st.FetchSeconds.Sum() <= 0 {
			t.Fatalf("%d fetches took no time", n)
		}
		if _, err := s.Fetch(t.Context(), f.refs[0], 0, programStart, programStart+200); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, s.Close())
}

// TestFetchedRowsStay keeps the answers of fetches of more and of fewer rows than are set up at
// once: the next fetch must not write into them.
func TestFetchedRowsStay(t *testing.T) {
	s := mustOpen(t, t.TempDir(), core.Options{NoBackground: true})
	def := rra.Definition{
		Step: 10, Sources: []rra.DataSource{{Name: "a", Kind: rra.Gauge, Heartbeat: 20, Min: math.NaN(), Max: math.NaN()}},
		Archives: []rra.Archive{{CF: rra.Average, XFF: 0.5, PDPs: 1, Rows: 2000}},
	}
	var refs []core.Ref
	for _, path := range []string{"a", "b"} {
		ref, err := s.Create(t.Context(), core.Spec{Path: path, Definition: &def, Start: rra.Seconds(programStart)})
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	var b core.Batch
	for i := range int64(1000) {
		for j, ref := range refs {
			b.Add(ref, rra.Seconds(programStart+10*(i+1)), rra.Float(float64(10000*j+int(i))))
		}
	}
	mustClose(t, s.Append(t.Context(), &b))
	for _, rows := range []int64{7, 512, 513, 900} {
		var got [2]core.Rows
		for j, ref := range refs {
			var err error
			if got[j], err = s.Fetch(t.Context(), ref, 0, programStart+20, programStart+20+10*rows); err != nil {
				t.Fatal(err)
			}
		}
		for j := range got {
			if int64(len(got[j].Values)) != rows {
				t.Fatalf("%d rows, not %d", len(got[j].Values), rows)
			}
			for i, v := range got[j].Values {
				if want := float64(10000*j + i + 2); v != want {
					t.Fatalf("%d rows of series %d: row %d is %v, not %v", rows, j, i, v, want)
				}
			}
		}
	}
	mustClose(t, s.Close())
}

// An open row says since when rows are known, of a young series in an old group, too, and in a store
// that was opened again. It may say an earlier second of a copy.
func TestOpenRowSaysSinceWhenRowsAreKnown(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	d := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:1000", "RRA:AVERAGE:0.5:6:1000")
	begin := func(path string, start int64) core.Ref {
		ref := mustCreateAt(t, s, path, d, start)
		var b core.Batch
		for i := range int64(100) {
			b.Add(ref, rra.Seconds(start+10*i+13), rra.Int(i))
		}
		mustAppend(t, s, &b)
		return ref
	}
	const start = 999_999_960
	old, unfed := begin("old", start), mustCreateAt(t, s, "unfed", d, start+9000)
	young := begin("young", start+6000)
	c, err := s.Export(t.Context(), old)
	if err != nil {
		t.Fatal(err)
	}
	c.Path = "copy"
	made, err := s.Import(t.Context(), []core.Copy{c}, false)
	if err != nil {
		t.Fatal(err)
	}
	wants := map[core.Ref]int64{old: start, made[0].Ref: start, young: start + 6000, unfed: start + 8999}
	for _, stored := range []string{"not", "", "again"} {
		for ref, want := range wants {
			r, err := s.Fetch(t.Context(), ref, core.OpenRow, 0, 0)
			if err != nil || r.First > want || ref != made[0].Ref && r.First < want {
				t.Errorf("%s stored: series %x is known since %d, %v, want %d", stored, ref, r.First, err, want)
			}
		}
		if stored == "" {
			mustClose(t, s.Close())
			s = mustOpen(t, dir, core.Options{NoBackground: true})
		} else {
			mustClose(t, s.Checkpoint(t.Context()))
		}
	}
	mustClose(t, s.Close())
}
