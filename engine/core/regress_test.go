package core_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// What went wrong once.

// definition parses the arguments of `rrdtool create --step 10`.
func definition(t testing.TB, args ...string) *rra.Definition {
	t.Helper()
	d, err := rra.ParseDefinition(10, args)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func mustCreate(t testing.TB, s *core.Store, path string, def *rra.Definition, labels ...core.Label) core.Ref {
	t.Helper()
	ref, err := s.Create(context.Background(), core.Spec{Path: path, Definition: def, Start: rra.Seconds(programStart), Labels: labels})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func mustAppend(t testing.TB, s *core.Store, b *core.Batch) {
	t.Helper()
	if err := s.Append(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

// crash opens a copy of the folder of s, which stays open, as a crash would have left it.
func crash(t testing.TB, dir string, o core.Options) *core.Store {
	t.Helper()
	return enginetest.OpenDir(t, copyStore(t, dir), o)
}

func mustDigest(t testing.TB, s *core.Store) map[string]uint64 {
	t.Helper()
	d, err := s.Digest(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func sameDigest(t testing.TB, what string, got, want map[string]uint64) {
	t.Helper()
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: digest of group %s: %#x, want %#x", what, k, got[k], v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d groups, want %d", what, len(got), len(want))
	}
}

func TestLongTextIsLoggedWhole(t *testing.T) {
	dir := t.TempDir()
	s := enginetest.OpenDir(t, dir, core.Options{})
	ref := mustCreate(t, s, "a", definition(t, "DS:a:COUNTER:20:U:U", "RRA:AVERAGE:0.5:1:10"))
	var b core.Batch
	for i := range 3 {
		b.AddText(ref, rra.Seconds(programStart+10*int64(i+1)), []rra.Value{rra.Text(0)}, []string{fmt.Sprintf("%0100d", 1000*i)})
	}
	mustAppend(t, s, &b)
	sameDigest(t, "after a crash", mustDigest(t, crash(t, dir, core.Options{})), mustDigest(t, s))
}

// A batch or a command is refused before the log when no record of it could be read back.
func TestWhatNoRecordHoldsIsRefused(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := enginetest.OpenDir(t, dir, core.Options{})
	ref := mustCreate(t, s, "a", definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"))
	at := rra.Seconds(programStart + 10)
	for _, tt := range []struct {
		name string
		fill func(b *core.Batch)
	}{
		{"a tag that there is not", func(b *core.Batch) { b.Add(ref, at, rra.Value{Tag: 9}) }},
		{"a text without texts", func(b *core.Batch) { b.Add(ref, at, rra.Text(0)) }},
		{"a text too long", func(b *core.Batch) {
			b.AddText(ref, at, []rra.Value{rra.Text(0)}, []string{strings.Repeat("1", 5000)})
		}},
		{"too many values", func(b *core.Batch) {
			b.Add(ref, at, rra.Int(1))
			b.Add(ref, at+1e6, rra.Int(1), rra.Int(2), rra.Int(3))
		}},
		{"too late a time", func(b *core.Batch) { b.Add(ref, at, rra.Int(1)); b.Add(ref, math.MaxInt64, rra.Int(1)) }},
		{"too early a time", func(b *core.Batch) { b.Add(ref, at, rra.Int(1)); b.Add(ref, math.MinInt64, rra.Int(1)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b core.Batch
			tt.fill(&b)
			good := b.Len() - 1 // the last one is refused
			rej, ok := errors.AsType[*core.RejectedError](s.Append(ctx, &b))
			if !ok || rej.Accepted+rej.Late != good || rej.Other != 1 || rej.First[len(rej.First)-1].Index != good {
				t.Errorf("append: %v, want the last of %d samples refused", rej, b.Len())
			}
			if _, err := s.Update(ctx, ref, &b); err == nil {
				t.Error("update: no error")
			}
		})
	}
	sameDigest(t, "after a crash", mustDigest(t, crash(t, dir, core.Options{})), mustDigest(t, s))
}

// The same samples again and again made more ranges than replay accepted.
func TestRepeatedSamplesReplay(t *testing.T) {
	dir := t.TempDir()
	s := enginetest.OpenDir(t, dir, core.Options{})
	def := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	a, c := mustCreate(t, s, "a", def), mustCreate(t, s, "c", def)
	var b core.Batch
	for range 300 {
		b.Add(c, rra.Seconds(programStart+10), rra.Int(1))
		b.Add(a, rra.Seconds(programStart+10), rra.Int(1))
	}
	var rej *core.RejectedError
	if err := s.Append(context.Background(), &b); !errors.As(err, &rej) || rej.Accepted != 2 || rej.Late != 598 {
		t.Fatalf("append: %v, want 2 stored and 598 late", err)
	}
	sameDigest(t, "after a crash", mustDigest(t, crash(t, dir, core.Options{})), mustDigest(t, s))
}

func TestCreateAfterABadDefinition(t *testing.T) {
	s := enginetest.Open(t)
	good := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	bad := &rra.Definition{Step: 10}
	out, err := s.CreateBatch(context.Background(), []core.Spec{
		{Path: "a", Definition: good}, {Path: "b", Definition: bad}, {Path: "c", Definition: good}, {Path: "d"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, ok := range []bool{true, false, true, false} {
		if (out[i].Err == nil) != ok {
			t.Errorf("series %d: %v", i, out[i].Err)
		}
	}
}

// The caller may use its slices and its definition again.
func TestSpecIsCopied(t *testing.T) {
	s := enginetest.Open(t)
	labels := []core.Label{{Name: "host", Value: "a"}}
	def := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	ref := mustCreate(t, s, "a", def, labels...)
	labels[0].Value = "b"
	def.Step, def.Sources[0].Name = 20, "z"
	got, err := s.Series(ref)
	if err != nil {
		t.Fatal(err)
	}
	if got.Labels[0].Value != "a" || got.Definition.Step != 10 || got.Definition.Sources[0].Name != "a" {
		t.Errorf("series is %v with %v, it was created otherwise", got.Labels, got.Definition)
	}
}

func TestLabelGivenTwiceIsRefused(t *testing.T) {
	s := enginetest.Open(t)
	_, err := s.Create(context.Background(), core.Spec{
		Path: "a", Definition: definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"),
		Labels: []core.Label{{Name: "x", Value: "1"}, {Name: "x", Value: "2"}},
	})
	if err == nil {
		t.Error("a label given twice was taken")
	}
}

// cancelAfter is a context that is done when it has been asked n times.
type cancelAfter struct {
	context.Context
	n int
}

func (c *cancelAfter) Err() error {
	if c.n--; c.n < 0 {
		return context.Canceled
	}
	return nil
}

// A checkpoint that was given up left groups that it had looked at as if they were written.
func TestCheckpointGivenUpLosesNothing(t *testing.T) {
	dir := t.TempDir()
	s := enginetest.OpenDir(t, dir, core.Options{NoBackground: true})
	defs := []*rra.Definition{
		definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"),
		definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:11"),
	}
	var b core.Batch
	for i, def := range defs {
		b.Add(mustCreate(t, s, fmt.Sprint(i), def), rra.Seconds(programStart+5), rra.Int(7))
	}
	mustAppend(t, s, &b)
	if err := s.Checkpoint(&cancelAfter{context.Background(), 1}); !errors.Is(err, context.Canceled) {
		t.Fatalf("checkpoint: %v, want canceled", err)
	}
	if err := s.Checkpoint(context.Background()); err != nil {
		t.Fatal(err)
	}
	sameDigest(t, "after a crash", mustDigest(t, crash(t, dir, core.Options{})), mustDigest(t, s))
}

func rowKeys(t testing.TB, s *core.Store) (n int) {
	t.Helper()
	err := s.DB().View(nil, func(tx *boltfile.Tx) error {
		n = tx.Bucket([]byte("rows")).Stats().KeyN
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// When every series of a group is dropped nothing moves its window any more.
func TestRowsOfADroppedGroupGo(t *testing.T) {
	ctx := context.Background()
	s := enginetest.OpenDir(t, t.TempDir(), core.Options{NoBackground: true})
	def := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:1000")
	ref := mustCreate(t, s, "a", def)
	var b core.Batch
	for i := range int64(500) {
		b.Add(ref, rra.Seconds(programStart+10*(i+1)), rra.Float(float64(i)))
	}
	mustAppend(t, s, &b)
	if err := s.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	if rowKeys(t, s) == 0 {
		t.Fatal("no rows were stored")
	}
	if err := core.Drop(ctx, s, "a"); err != nil {
		t.Fatal(err)
	}
	if err := s.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	if n := rowKeys(t, s); n != 0 {
		t.Errorf("%d row blocks are left of dropped series", n)
	}
}

func TestFetchOfAnyRange(t *testing.T) {
	s := enginetest.Open(t)
	def, err := rra.ParseDefinition(1, []string{"DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10", "RRA:AVERAGE:0.5:7:10"})
	if err != nil {
		t.Fatal(err)
	}
	ref := mustCreate(t, s, "a", def)
	ends := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, programStart, math.MaxInt64 - 1, math.MaxInt64}
	for _, from := range ends {
		for _, to := range ends {
			for a := range 2 {
				rows, err := s.Fetch(context.Background(), ref, a, from, to)
				if big := to > from && uint64(to-from) > 1<<40; big && err == nil {
					t.Errorf("fetch of (%d, %d]: %d values, want an error", from, to, len(rows.Values))
				}
			}
		}
	}
}

// More columns than a block can name.
func TestTooManyColumnsAreRefused(t *testing.T) {
	d := &rra.Definition{Step: 10}
	for i := range 4096 {
		d.Sources = append(d.Sources, rra.DataSource{Name: fmt.Sprint("d", i), Heartbeat: 20, Min: math.NaN(), Max: math.NaN()})
	}
	for i := range int64(20) {
		d.Archives = append(d.Archives, rra.Archive{CF: rra.Average, XFF: 0.5, PDPs: i + 1, Rows: 10, Partner: -1})
	}
	dir := t.TempDir()
	s := enginetest.OpenDir(t, dir, core.Options{})
	ref, err := s.Create(context.Background(), core.Spec{Path: "a", Definition: d, Start: rra.Seconds(programStart)})
	if err == nil {
		t.Errorf("a series %#x of 81,920 columns was made", ref)
	}
	d.Archives = d.Archives[:15]
	x := newModelSeries(d, "a", rra.Seconds(programStart))
	x.ref = mustCreate(t, s, "a", d)
	p := &program{t: t, r: rand.New(rand.NewPCG(seedtest.One(t), 6)), plainly: true}
	var rds []*reading
	for i := range int64(40) {
		rd := p.reading(x, rra.Seconds(programStart+10*(i+1)))
		_ = x.append(rd)
		rds = append(rds, rd)
	}
	for _, rd := range rds {
		if err := feed(t, s, []*reading{rd}); err != nil && !errors.As(err, new(*core.RejectedError)) {
			t.Fatal(err)
		}
	}
	compareModel(t, s, []*modelSeries{x})
	if err := s.Checkpoint(context.Background()); err != nil {
		t.Fatal(err)
	}
	compareModel(t, s, []*modelSeries{x})
	sameDigest(t, "after a crash", mustDigest(t, crash(t, dir, core.Options{})), mustDigest(t, s))
}

// One batch that no record can hold is that caller's own trouble.
func TestBatchTooLargeForTheLog(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := enginetest.OpenDir(t, dir, core.Options{NoBackground: true})
	def := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	ref := mustCreate(t, s, "a", def)
	other := mustCreate(t, s, "b", def)
	var big core.Batch
	for i := range int64(6000) {
		big.AddText(ref, rra.Seconds(programStart+10*(i+1)), []rra.Value{rra.Text(0)}, []string{strings.Repeat("1", 4000)})
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range int64(200) {
			var b core.Batch
			b.Add(other, rra.Seconds(programStart+10*(i+1)), rra.Int(i))
			if err := s.Append(ctx, &b); err != nil {
				t.Errorf("another's append: %v", err)
				return
			}
		}
	})
	for range 10 {
		if err := s.Append(ctx, &big); err == nil {
			t.Error("a batch of 24 MB was taken")
		}
	}
	wg.Wait()
	sameDigest(t, "after a crash", mustDigest(t, crash(t, dir, core.Options{})), mustDigest(t, s))
}
