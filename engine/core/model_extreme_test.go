package core_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// extremes counts how often each extreme was met, by what it is of.
type extremes map[string]map[string]int

func (x extremes) met(what string, which any) {
	if x[what] == nil {
		x[what] = make(map[string]int)
	}
	x[what][fmt.Sprint(which)]++
}

// log logs a line for each kind of extreme.
func (x extremes) log(t *testing.T) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(x)) {
		var line strings.Builder
		for _, which := range slices.Sorted(maps.Keys(x[what])) {
			fmt.Fprintf(&line, "; %s: %d", which, x[what][which])
		}
		t.Logf("met %s%s", what, line.String())
	}
}

// extremesOfRound is how many series TestExtremes makes in a store. Each of the limits is reached
// by one of them.
const extremesOfRound = 70

// extremeDefinition returns the definition of series i, which may be refused, and what is extreme
// about it.
func extremeDefinition(r *rand.Rand, i int, met func(what string, which any)) (*rra.Definition, error) {
	step := pick[int64](r, 1, 10, 300, 1<<31)
	heartbeat := pick(r, "1", "600", "4503599627370496")
	var args []string
	source := func(kind string) {
		met("source", kind)
		low, high := pick(r, "U", "U", "-1e308"), pick(r, "U", "U", "1e308")
		args = append(args, fmt.Sprintf("DS:d%d:%s:%s:%s:%s", len(args), kind, heartbeat, low, high))
	}
	compute := func(expression string) {
		met("source", "COMPUTE")
		args = append(args, fmt.Sprintf("DS:d%d:COMPUTE:%s", len(args), expression))
	}
	archive := func(text string) {
		met("archive", text)
		args = append(args, "RRA:"+text)
	}
	met("step", step)
	met("heartbeat", heartbeat)
	repeat := func(n int, do func(string), text string) {
		for range n {
			do(text)
		}
	}
	limit, name := "", ""
	switch i {
	case 0:
		limit = fmt.Sprint(rra.MaxSources, " data sources in ", rra.MaxColumns/rra.MaxSources, " archives")
		repeat(rra.MaxSources, source, "GAUGE")
		repeat(rra.MaxColumns/rra.MaxSources, archive, "AVERAGE:0.5:1:2")
	case 1:
		limit = fmt.Sprint(rra.MaxArchives, " archives")
		repeat(3, source, "DERIVE")
		repeat(rra.MaxArchives, archive, "MIN:0.5:3:4")
	case 2:
		limit = fmt.Sprint(rra.MaxComputes, " COMPUTE data sources")
		source("GAUGE")
		repeat(rra.MaxComputes, compute, "d0,2,*")
		archive("LAST:0:1:3")
	case 3:
		limit = "an expression of 19 nodes" // as many as rrdtool takes
		source("GAUGE")
		compute("d0" + strings.Repeat(",1,+", 9))
		archive("MAX:0.5:1:3")
	case 4:
		limit, name = fmt.Sprint("a name of ", rra.MaxName, " bytes"), strings.Repeat("n", rra.MaxName)
		source("ABSOLUTE")
		archive("AVERAGE:0.5:1:3")
	case 5:
		const rows = rra.MaxStateBytes/16 - 1000 // of SEASONAL and of DEVSEASONAL
		limit = fmt.Sprint("a season of ", rows, " rows")
		source("COUNTER")
		archive(fmt.Sprintf("HWPREDICT:%d:0.1:0.0035:%d", 2*rows, rows))
	case 6:
		limit = fmt.Sprint(core.DefaultMaxRows, " rows")
		source("GAUGE")
		archive(fmt.Sprintf("LAST:0.5:1:%d", core.DefaultMaxRows))
	default:
		for range pick(r, 1, 1, 2, 5) {
			if len(args) > 0 && r.IntN(4) == 0 {
				compute(pick(r, "d0,0,/", "d0,UN,0,d0,IF", "d0,DUP,-", "d0,32767,*", "d0,NEGINF,MAX"))
				continue
			}
			source(pick(r, "GAUGE", "COUNTER", "DERIVE", "ABSOLUTE", "DCOUNTER", "DDERIVE"))
		}
		archive("AVERAGE:0.5:3:20")
		for range r.IntN(3) {
			archive(pick(r, "AVERAGE:0:1:1", "AVERAGE:0.99:1:1000", "MIN:0.5:7:3", "LAST:0:100:2", "MAX:0.5:2147483647:5"))
		}
		if r.IntN(3) == 0 {
			archive(pick(r, "HWPREDICT:10:0.1:0.0035:2", "MHWPREDICT:100:0.9999:0.0001:50", "HWPREDICT:4:0.0001:0.9999:3"))
		}
	}
	d, err := rra.ParseDefinition(step, args)
	if err != nil {
		met("definition", err.Error())
		return nil, err
	}
	if name != "" {
		d.Sources[0].Name = name
	}
	if limit != "" {
		met("limit", limit)
	}
	return d, nil
}

// extremeTexts are readings. Series with many sources get short ones.
func extremeTexts(r *rand.Rand, d *rra.Definition, met func(what string, which any)) ([]rra.Value, []string) {
	var values []rra.Value
	var texts []string
	for i := range d.Sources {
		if d.Sources[i].Kind == rra.Compute {
			continue
		}
		text := pick(r, "U", "0", "-0", "1e308", "-1e-320", "18446744073709551615", "9223372036854775808", "NaN", "inf", "0x10", "1.50")
		if len(d.Sources) < 10 {
			text = pick(r, text, text, text, strings.Repeat("9", 29), strings.Repeat("1", 4096))
		}
		if len(text) > 30 {
			met("reading", "4096 digits")
		} else {
			met("reading", text)
		}
		v, _ := rra.ParseValue(d.Sources[i].Kind, text, &texts) // one that does not parse is sent as it is
		values = append(values, v)
	}
	return values, texts
}

// TestExtremes: whatever can be stored can be read again. Extreme but accepted definitions, states,
// readings and times are stored, checkpointed, opened again from a copy of the folder, exported,
// and imported under another name; what comes out is the same.
func TestExtremes(t *testing.T) {
	seed, rounds, compared := seedtest.One(t), seedtest.Programs(1, 100), 0
	all := make(extremes)
	for round := range rounds {
		compared += testExtremes(t, rand.New(rand.NewPCG(seed, uint64(1000+round))), all)
	}
	all.log(t)
	t.Logf("seed %d: %d programs, %d series with extremes compared", seed, rounds*extremesOfRound, compared)
	if n := len(all["limit"]); n != 7 {
		t.Errorf("%d limits were reached", n)
	}
	if compared < 30*rounds {
		t.Error("that shows little")
	}
}

// quick compares slices that are not both empty as cmp does, but in no time.
func quick[T any](equal func(a, b T) bool) cmp.Option {
	return cmp.FilterValues(func(a, b []T) bool { return len(a)+len(b) > 0 },
		cmp.Comparer(func(a, b []T) bool { return slices.EqualFunc(a, b, equal) }))
}

// testExtremes is one round of it, and returns how many series were compared.
func testExtremes(t *testing.T, r *rand.Rand, all extremes) int {
	t.Helper()
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	refs := make(map[string]core.Ref)
	for i := range extremesOfRound {
		d, err := extremeDefinition(r, i, all.met)
		if err != nil {
			continue
		}
		start := pick(r, 0, 1, 1_000_000_000, int64(core.MaxTime/2e6))
		path := fmt.Sprintf("x/%d", i)
		ref, err := s.Create(t.Context(), core.Spec{Path: path, Definition: d, Start: rra.Seconds(start)})
		if err != nil {
			all.met("create", err.Error())
			continue
		}
		all.met("start", start)
		refs[path] = ref
		at := rra.Seconds(start)
		for range r.IntN(12) {
			gap := pick(r, int64(1), 999_999, d.Step*1e6, 3*d.Step*1e6, 1e12)
			all.met("gap in µs", gap)
			at += rra.Time(gap)
			values, texts := extremeTexts(r, d, all.met)
			var b core.Batch
			b.AddText(ref, at, values, texts)
			if s.Append(t.Context(), &b) != nil {
				all.met("sample", "refused")
				continue
			}
			all.met("sample", "stored")
		}
		if r.IntN(4) == 0 {
			if err := s.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
			all.met("checkpoint", "done")
		}
	}
	s2 := enginetest.OpenDir(t, copyStore(t, dir), core.Options{NoBackground: true})
	same := cmp.Options{
		cmpopts.EquateNaNs(), cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(core.Copy{}), cmpopts.IgnoreFields(core.Copy{}, "Path"),
		quick(func(a, b uint64) bool { return a == b }),
		quick(func(a, b float64) bool { return a == b || a != a && b != b }), // NaN is one NaN
	}
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
		values := make([]rra.Value, 0, len(want.Definition.Sources))
		for i := range want.Definition.Sources {
			if want.Definition.Sources[i].Kind != rra.Compute {
				values = append(values, rra.Float(math.NaN()))
			}
		}
		var b core.Batch
		b.Add(out[0].Ref, rra.Time(want.State.W[0])+1, values...)
		_ = s2.Append(t.Context(), &b) // what becomes of it is in the state, which is checked at the end
	}
	if err := s2.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s.Close())
	return len(refs)
}
