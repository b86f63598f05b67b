package copying

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

func open(t *testing.T, o core.Options) *core.Store {
	t.Helper()
	o.Memory = 256 << 20
	s, err := core.Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A shared is a directory of stores of this process.
type shared []core.Engine

func (d shared) Partitions() int                                      { return len(d) }
func (d shared) Leader(_ context.Context, p int) (core.Engine, error) { return d[p], nil }
func (d shared) Reader(_ context.Context, p int) (core.Engine, error) { return d[p], nil }

// several returns one engine of n partitions.
func several(t *testing.T, n int) *router.Store {
	t.Helper()
	var d shared
	for range n {
		d = append(d, open(t, core.Options{}))
	}
	e, err := router.New(d, router.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// shapes are definitions with every kind of state.
func shapes(t *testing.T) (all []*rra.Definition) {
	t.Helper()
	for _, args := range [][]string{
		{"DS:a:GAUGE:30:U:U", "RRA:AVERAGE:0.5:1:50", "RRA:MAX:0.5:5:20"},
		{"DS:a:COUNTER:30:0:U", "DS:b:DERIVE:30:U:U", "DS:c:COMPUTE:a,b,+", "RRA:LAST:0:1:20", "RRA:AVERAGE:0.5:1:10", "RRA:MIN:0.9:3:10"},
		{"DS:a:GAUGE:30:U:U", "RRA:AVERAGE:0.5:1:60", "RRA:HWPREDICT:60:0.1:0.0035:12"},
		{"DS:a:ABSOLUTE:30:U:U", "RRA:AVERAGE:0.5:1:3"},
	} {
		d, err := rra.ParseDefinition(10, args)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

// fill makes n series with samples up to a time.
func fill(t *testing.T, e core.Engine, n int) {
	t.Helper()
	defs := shapes(t)
	for i := range n {
		_, err := core.Create(t.Context(), e, core.Spec{
			Path: name(i), Definition: defs[i%len(defs)], Start: rra.Seconds(1_000_000_000),
			Labels: []core.Label{{Name: "__name__", Value: "m"}, {Name: "i", Value: fmt.Sprint(i)}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	update(t, e, n, 1_000_000_000, 70)
	m := []core.PathMetadata{
		{Path: name(1), Metadata: core.Metadata{Time: rra.Seconds(1_000_000_100), Text: "up", Attributes: []core.Label{{Name: "unit", Value: "s"}}, Expire: 60}},
		{Path: "no/series", Metadata: core.Metadata{Time: rra.Seconds(1_000_000_200), Text: "x"}},
		{Path: name(2), Metadata: core.Metadata{Time: rra.Seconds(1_000_000_300), Expired: true}},
	}
	if out, err := e.SetMetadata(t.Context(), m); err != nil || errors.Join(out...) != nil {
		t.Fatal(out, err)
	}
	for i := range 20 { // the oldest of the first key are forgotten
		key := name(i % 2 * 3)
		if i < 18 {
			key = name(0)
		}
		note := core.Note{Time: rra.Seconds(int64(1_000_000_000 + i)), Severity: "okay", Text: fmt.Sprint("note ", i), Labels: []core.Label{{Name: "Host", Value: "h"}}}
		if err := e.AddNote(t.Context(), key, note); err != nil {
			t.Fatal(err)
		}
	}
}

func name(i int) string {
	path := fmt.Sprintf("host%d/load/%d", i%7, i)
	if i%3 == 0 {
		path += ".rrd"
	}
	return path
}

// update appends the same samples to each of the first n series, from a time on.
func update(t *testing.T, e core.Engine, n int, from int64, rounds int) {
	t.Helper()
	random := rand.New(rand.NewPCG(uint64(from), 1))
	var b core.Batch
	for i := range n {
		ref, err := e.Lookup(name(i))
		if err != nil {
			t.Fatal(err)
		}
		x, err := core.SeriesOf(t.Context(), e, ref)
		if err != nil {
			t.Fatal(err)
		}
		at := from
		for range rounds {
			at += 5 + random.Int64N(20)
			var v []rra.Value
			for j := range x.Definition.Sources {
				switch {
				case x.Definition.Sources[j].Kind == rra.Compute:
				case random.IntN(9) == 0:
					v = append(v, rra.Unknown)
				case random.IntN(9) == 0:
					v = append(v, rra.Int(random.Int64N(1000)))
				default:
					v = append(v, rra.Int(at-1_000_000_000))
				}
			}
			b.Add(ref, rra.Seconds(at), v...)
		}
	}
	err := core.Append(t.Context(), e, &b)
	if rejected, ok := errors.AsType[*core.RejectedError](err); err != nil && (!ok || rejected.Other > 0) {
		t.Fatal(err)
	}
}

// differ returns how two engines differ, series by series, and in what is beside them.
func differ(t *testing.T, a, b core.Engine) (all []string) {
	t.Helper()
	var have [2]map[string]string
	for i, e := range []core.Engine{a, b} {
		have[i] = make(map[string]string)
		for x, err := range e.Select(t.Context(), core.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			c, err := e.Export(t.Context(), x.Ref)
			if err != nil {
				t.Fatal(err)
			}
			have[i][c.Path] = string(pack(&c))
		}
		for m, err := range e.ListMetadata(t.Context(), core.MetadataQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			have[i]["metadata "+m.Path] = fmt.Sprintf("%+v", m)
		}
		notes, err := e.Notes(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for key, list := range notes {
			have[i]["notes "+key] = fmt.Sprintf("%+v", list)
		}
	}
	for key, v := range have[0] {
		if have[1][key] != v {
			all = append(all, key)
		}
	}
	for key := range have[1] {
		if _, ok := have[0][key]; !ok {
			all = append(all, "too much: "+key)
		}
	}
	slices.Sort(all)
	return all
}

func wants(t *testing.T, got Result, want Result) {
	t.Helper()
	got.Digest, want.Digest = Digest{}, Digest{}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
