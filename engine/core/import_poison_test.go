package core_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// TestImportedCountsLeaveGroupReadable: a copy whose counts of what is unknown are the largest that
// Import takes goes on with unknown readings, and its whole group is stored and read again. It made
// the state record of its group unreadable.
func TestImportedCountsLeaveGroupReadable(t *testing.T) {
	for name, fill := range map[string]func(x *rra.Snapshot){
		"pdps":    func(x *rra.Snapshot) { x.Archives[1].CDPs[0].Unknown = 1 << 31 },
		"seconds": func(x *rra.Snapshot) { x.Sources[0].UnknownSec = 1<<31 - 1 },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, dir := t.Context(), t.TempDir()
			s := mustOpen(t, dir, core.Options{NoBackground: true})
			f := newFeeder(t, s, 20)
			f.mustFeed(100)
			c, err := s.Export(ctx, f.refs[0])
			if err != nil {
				t.Fatal(err)
			}
			m, err := rra.Compile(c.Definition)
			if err != nil {
				t.Fatal(err)
			}
			x := m.Snapshot(&c.State)
			fill(x)
			if c.State, err = m.Import(x); err != nil {
				t.Fatal(err)
			}
			c.Path = "filled"
			out, err := s.Import(ctx, []core.Copy{c}, false)
			if err != nil || out[0].Err != nil {
				t.Fatal(out, err)
			}
			for i := range int64(3) {
				var b core.Batch
				b.Add(out[0].Ref, f.at()+rra.Seconds(13*(i+1)), rra.Float(math.NaN()))
				if err := s.Append(ctx, &b); err != nil {
					t.Fatal(err)
				}
			}
			f.mustFeed(10)
			if err := s.Checkpoint(ctx); err != nil {
				t.Fatal(err)
			}
			mustClose(t, s.Close())
			s = mustOpen(t, dir, core.Options{NoBackground: true})
			for i := range 20 {
				ref, err := s.Lookup(fmt.Sprintf("host/%d", i))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Fetch(ctx, ref, 0, programStart, programStart+1000); err != nil {
					t.Errorf("series %d of the group cannot be read: %v", i, err)
				}
			}
			f.reopened(s).mustFeed(1)
			mustClose(t, s.Close())
		})
	}
}

// TestImportRefusesLongText: a copy whose last reading is longer than a state record can hold is
// refused at once. It was logged, and the log could not be replayed.
func TestImportRefusesLongText(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	ref, err := s.Create(ctx, core.Spec{Path: "x", Definition: testDefinition(t), Start: rra.Seconds(programStart)})
	if err != nil {
		t.Fatal(err)
	}
	var b core.Batch
	b.AddText(ref, rra.Seconds(programStart+10), []rra.Value{rra.Text(0)}, []string{"12.50000000000000000000000000000001"})
	if err := s.Append(ctx, &b); err != nil {
		t.Fatal(err)
	}
	c, err := s.Export(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.State.Text) == 0 || c.State.Text[0] == "" {
		t.Fatal("the last reading is not kept as a text: the test shows nothing")
	}
	c.Path, c.State.Text[0] = "y", strings.Repeat("1", rra.LastReading+1)
	out, err := s.Import(ctx, []core.Copy{c}, false)
	if err != nil {
		t.Fatal(err)
	}
	if out[0].Err == nil {
		t.Error("the text was taken")
	}
	if m, err := rra.Compile(c.Definition); err != nil || m.Check(&c.State) == nil {
		t.Error("Check passes the state: ", err)
	}
	dup := copyStore(t, dir) // as a crash leaves it
	mustClose(t, s.Close())
	s = mustOpen(t, dup, core.Options{NoBackground: true})
	mustClose(t, s.Close())
}

// TestImportOfEmptyTexts: a copy whose state has a text for each data source, all of them empty,
// is the same in the store that takes it and in one that applies its log.
func TestImportOfEmptyTexts(t *testing.T) {
	ctx := context.Background()
	o := core.Options{NoBackground: true, Sync: wal.SyncNone}
	dir := t.TempDir()
	s, err := core.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	ref := mustCreate(t, s, "a", testDefinition(t, "DS:x:GAUGE:100:U:U", "DS:y:GAUGE:100:U:U", "RRA:AVERAGE:0.5:1:20"))
	emptied := func(c core.Copy) (core.Copy, error) {
		c.State.Text = []string{"", ""}
		return c, nil
	}
	c, err := s.Export(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	c, _ = emptied(c)
	c.Path = "b"
	if out, err := s.Import(ctx, []core.Copy{c}, false); err != nil || out[0].Err != nil {
		t.Fatal(out, err)
	}
	if _, err := s.Alter(ctx, "a", emptied); err != nil {
		t.Fatal(err)
	}
	want := mustDigest(t, s)
	replayed, err := core.Open(copyStore(t, dir), o)
	if err != nil {
		t.Fatal(err)
	}
	sameDigest(t, "replayed", mustDigest(t, replayed), want)
	for _, s := range []*core.Store{s, replayed} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestImportOfMany: copies that take several log records, among them one that is refused and one
// whose path an earlier one has, are the same in the store that takes them and in one that applies
// its log.
func TestImportOfMany(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	o := core.Options{NoBackground: true, Sync: wal.SyncNone}
	s := mustOpen(t, dir, o)
	d := testDefinition(t, "DS:x:GAUGE:100:U:U", "RRA:AVERAGE:0.5:1:2000", "RRA:MAX:0.5:10:20")
	m, err := rra.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	copies := make([]core.Copy, 300)
	for i := range copies {
		own := *d
		c := core.Copy{Path: fmt.Sprint("many/", i), Definition: &own, State: m.NewState(rra.Seconds(programStart)), Rows: make([][]float64, 2)}
		for j := range 2000 {
			c.Rows[0] = append(c.Rows[0], math.Sin(math.Exp2(float64(1+(2000*i+j)%997)))) // 8 bytes each
		}
		copies[i] = c
	}
	copies[7].State.W = nil
	copies[9].Path = copies[3].Path
	out, err := s.Import(ctx, copies, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range out {
		switch {
		case i == 7 && out[i].Err != nil && out[i].Ref == 0:
		case i == 9 && errors.Is(out[i].Err, core.ErrExists) && out[i].Ref == out[3].Ref:
		case out[i].Err != nil:
			t.Errorf("copy %d: %v", i, out[i].Err)
		}
	}
	want := mustDigest(t, s)
	replayed := mustOpen(t, copyStore(t, dir), o)
	sameDigest(t, "replayed", mustDigest(t, replayed), want)
	mustClose(t, replayed.Close())
	c, err := s.Export(ctx, out[299].Ref)
	if err != nil || len(c.Rows[0]) != 2000 || c.Rows[0][1999] != copies[299].Rows[0][1999] {
		t.Errorf("the last one has %d rows: %v", len(c.Rows[0]), err)
	}
	mustClose(t, s.Close())
}
