package core_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// TestExtremes: whatever can be stored can be read again. Extreme but accepted definitions, states, readings and times are stored,
// checkpointed, opened again from a copy of the folder, exported, and imported under another name; what comes out is the same.
func TestExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(testSeed(t), 77))
	used := make(map[string]int) // how often each extreme was generated
	use := func(what string) { used[what]++ }
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	refs := make(map[string]core.Ref)
	for i := range 120 {
		step := pick(r, 1, 10, 300, 1<<31)
		heartbeat := pick(r, "1", "600", "4503599627370496")
		source := pick(r, "GAUGE", "COUNTER", "DERIVE", "ABSOLUTE", "DCOUNTER", "DDERIVE")
		archive := pick(r, "AVERAGE:0:1:1", "AVERAGE:0.99:1:1000", "MIN:0.5:7:3", "LAST:0:100:2", "MAX:0.5:2147483647:5")
		d, err := rra.ParseDefinition(int64(step), []string{"DS:v:" + source + ":" + heartbeat + ":U:U", "RRA:AVERAGE:0.5:3:20", "RRA:" + archive})
		if err != nil {
			use("definition refused")
			continue
		}
		use(fmt.Sprint("step ", step))
		use("heartbeat " + heartbeat)
		use(archive)
		use(source)
		start := pick(r, 0, 1, 1_000_000_000, int64(core.MaxTime/2e6))
		path := fmt.Sprintf("x/%d", i)
		ref, err := s.Create(t.Context(), core.Spec{Path: path, Definition: d, Start: rra.Seconds(start)})
		if err != nil {
			use("series refused")
			continue
		}
		use(fmt.Sprint("start ", start))
		refs[path] = ref
		at := rra.Seconds(start)
		for range r.IntN(12) {
			at += rra.Time(pick(r, int64(1), 999_999, int64(step)*1e6, 3*int64(step)*1e6, 1e12))
			text := pick(r, "U", "0", "-0", "1e308", "-1e-320", "18446744073709551615", "9223372036854775808", "NaN", "inf",
				strings.Repeat("9", 29), strings.Repeat("1", 4096), "0x10", "1.50")
			name := text
			if len(name) > 30 {
				name = "4096 digits"
			}
			var texts []string
			v, _ := rra.ParseValue(d.Sources[0].Kind, text, &texts)
			var b core.Batch
			b.AddText(ref, at, []rra.Value{v}, texts)
			if s.Append(t.Context(), &b) != nil {
				use("refused " + name)
				continue
			}
			use("stored " + name)
		}
		if r.IntN(4) == 0 {
			if err := s.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
			use("checkpoint")
		}
	}
	s2 := enginetest.OpenDir(t, copyStore(t, dir), core.Options{NoBackground: true})
	// NaN is one NaN.
	same := cmp.Options{cmpopts.EquateNaNs(), cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(core.Copy{}), cmpopts.IgnoreFields(core.Copy{}, "Path")}
	for path, ref := range refs {
		want, err := s.Export(t.Context(), ref)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		got, err := s2.Export(t.Context(), ref)
		if err != nil {
			t.Fatalf("%s after a crash: %v", path, err)
		}
		if d := cmp.Diff(want, got, same); d != "" {
			t.Fatalf("%s after a crash (-before +after):\n%s", path, d)
		}
		got.Path = "again/" + path
		out, err := s2.Import(t.Context(), []core.Copy{got}, false)
		if err != nil || out[0].Err != nil {
			t.Fatalf("%s is not imported again: %v, %v", path, out, err)
		}
		again, err := s2.Export(t.Context(), out[0].Ref)
		if err != nil {
			t.Fatal(err)
		}
		again.Definition = want.Definition // an import may give archives rows of their own
		if d := cmp.Diff(want, again, same); d != "" {
			t.Fatalf("%s imported again (-before +after):\n%s", path, d)
		}
		var b core.Batch
		b.Add(out[0].Ref, rra.Time(want.State.W[0])+1, rra.Float(math.NaN()))
		_ = s2.Append(t.Context(), &b) // what becomes of it is in the state, which is checked at the end
	}
	if err := s2.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s.Close())
	t.Logf("%d series; how often each extreme was generated: %v", len(refs), used)
	if len(refs) < 30 {
		t.Error("that shows little")
	}
}
