package copying

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/cluster/router"
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
		_, err := e.Create(t.Context(), core.Spec{
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
		x, err := e.Series(ref)
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
	err := e.Append(t.Context(), &b)
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
		for x, err := range e.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			c, err := e.Export(t.Context(), x.Ref)
			if err != nil {
				t.Fatal(err)
			}
			have[i][c.Path] = string(pack(&c))
		}
		for m, err := range e.ListMetadata(t.Context(), "", "") {
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

// A database goes into partitions and back with everything, and what comes afterwards gives the
// same rows and states on all sides. Samples that a reorder window holds are applied.
func TestThereAndBack(t *testing.T) {
	const n = 300
	from, to, back := open(t, core.Options{Reorder: 40 * time.Second}), several(t, 5), open(t, core.Options{})
	fill(t, from, n)
	if from.Stats().Held == 0 {
		t.Fatal("no sample is held")
	}
	var steps atomic.Int64
	there, err := Copy(t.Context(), Options{From: from, To: to, Step: func(n int) { steps.Add(int64(n)) }})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, there, Result{Series: n, Copied: n, Metadata: 3, Notes: 17})
	if steps.Load() != n {
		t.Errorf("%d steps", steps.Load())
	}
	again, err := Copy(t.Context(), Options{From: to, To: back})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, again, Result{Series: n, Copied: n, Metadata: 3, Notes: 17})
	if there.Digest != again.Digest || there.Digest == (Digest{}) {
		t.Errorf("digests %v and %v", there.Digest, again.Digest)
	}
	for _, e := range []core.Engine{to, back} {
		if d := differ(t, from, e); len(d) > 0 {
			t.Errorf("%q differ", d)
		}
	}
	for _, e := range []core.Engine{from, to, back} {
		update(t, e, n, 1_000_002_000, 30)
	}
	if err := from.Flush(t.Context(), refsOf(t, from)); err != nil {
		t.Fatal(err)
	}
	for _, e := range []core.Engine{to, back} {
		if d := differ(t, from, e); len(d) > 0 {
			t.Errorf("after further samples %q differ", d)
		}
	}
}

func refsOf(t *testing.T, e core.Engine) (refs []core.Ref) {
	t.Helper()
	for x, err := range e.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, x.Ref)
	}
	return refs
}

// A failing engine fails each tenth call for a reason that passes, before or after it was made. It
// fails for good after a number of imports.
type failing struct {
	core.Engine
	calls, imports atomic.Int64
	last           int64
}

var errStop = errors.New("the machine stops")

func (f *failing) fails(call func() error) error {
	switch f.calls.Add(1) % 20 {
	case 0:
		return fmt.Errorf("nobody leads: %w", core.ErrUnavailable)
	case 10:
		if err := call(); err != nil {
			return err
		}
		return fmt.Errorf("no answer: %w", core.ErrUnavailable)
	}
	return call()
}

func (f *failing) Import(ctx context.Context, copies []core.Copy, overwrite bool) (out []core.Created, err error) {
	if f.imports.Add(1) > f.last {
		return nil, errStop
	}
	err = f.fails(func() error {
		out, err = f.Engine.Import(ctx, copies, overwrite)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (f *failing) AddNote(ctx context.Context, key string, n core.Note) error {
	return f.fails(func() error { return f.Engine.AddNote(ctx, key, n) })
}

func (f *failing) SetMetadata(ctx context.Context, ms []core.PathMetadata) (out []error, err error) {
	err = f.fails(func() error {
		out, err = f.Engine.SetMetadata(ctx, ms)
		return err
	})
	return out, err
}

func (f *failing) Lookup(path string) (ref core.Ref, err error) {
	err = f.fails(func() error {
		ref, err = f.Engine.Lookup(path)
		return err
	})
	return ref, err
}

// A copy that ends early goes on when it is made again: what is there stays. Calls that fail for a
// passing reason are made again, whether or not they did anything.
func TestAgain(t *testing.T) {
	const n = 1200
	from, to := open(t, core.Options{}), several(t, 3)
	fill(t, from, n)
	o := Options{From: from, To: &failing{Engine: to, last: 4}, Jobs: 2}
	if _, err := Copy(t.Context(), o); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	some := to.Stats().Series
	if some == 0 || some == n {
		t.Fatalf("%d series were copied", some)
	}
	o.Again, o.To = true, &failing{Engine: to, last: 1 << 40}
	got, err := Copy(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if got.Series != n || got.Copied+got.Equal != n || got.Equal < some || got.Failed > 0 {
		t.Errorf("%+v after %d series", got, some)
	}
	if d := differ(t, from, to); len(d) > 0 {
		t.Errorf("%q differ", d)
	}
	got, err = Copy(t.Context(), Options{From: from, To: to, Again: true})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, got, Result{Series: n, Equal: n, Metadata: 3, Notes: 17})
}

// What is older on the other side is replaced; what is newer, and what servers write about
// themselves, stays.
func TestSeriesThatAreThere(t *testing.T) {
	from, to := open(t, core.Options{}), several(t, 2)
	fill(t, from, 4)
	d := shapes(t)[0]
	add := func(e core.Engine, path string, at int64) {
		t.Helper()
		ref, err := e.Create(t.Context(), core.Spec{Path: path, Definition: d, Start: rra.Seconds(1_000_000_000)})
		if err != nil {
			t.Fatal(err)
		}
		var b core.Batch
		b.Add(ref, rra.Seconds(at), rra.Int(at))
		if err := e.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Copy(t.Context(), Options{From: from, To: to}); err != nil {
		t.Fatal(err)
	}
	add(from, "rondo/a", 1_000_000_010)
	add(to, "rondo/a", 1_000_000_020)
	add(from, "newer", 1_000_000_010)
	add(to, "newer", 1_000_000_020)
	update(t, from, 2, 1_000_005_000, 3) // two are older there now
	for _, e := range []core.Engine{from, to} {
		at := rra.Seconds(1_000_009_000)
		if e == to {
			at += rra.Seconds(1)
		}
		if _, err := e.SetMetadata(t.Context(), []core.PathMetadata{{Path: "newer", Metadata: core.Metadata{Time: at, Text: "x"}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.AddNote(t.Context(), name(0), core.Note{Time: rra.Seconds(2_000_000_000), Text: "other"}); err != nil {
		t.Fatal(err)
	}
	got, err := Copy(t.Context(), Options{From: from, To: to, Again: true, Own: "rondo"})
	if err != nil {
		t.Fatal(err)
	}
	problems := fmt.Sprint(got.Problems)
	for _, want := range []string{"newer: it has newer samples here", "newer: it has newer metadata here", name(0) + ": it has other notes here"} {
		if !strings.Contains(problems, want) {
			t.Errorf("%s, want %s", problems, want)
		}
	}
	got.Problems = nil
	wants(t, got, Result{Series: 6, Equal: 2, Replaced: 2, Kept: 1, Own: 1, Failed: 3, Metadata: 3, Notes: 1})
	if d, want := differ(t, from, to), []string{name(0), "metadata newer", "newer", "notes " + name(0), "rondo/a"}; !slices.Equal(d, want[1:]) {
		t.Errorf("%q differ, want %q", d, want[1:])
	}
}

// A target that loses what it was given is found out.
func TestReadBack(t *testing.T) {
	from := open(t, core.Options{})
	fill(t, from, 8)
	to := &lossy{Engine: open(t, core.Options{})}
	got, err := Copy(t.Context(), Options{From: from, To: to})
	if err != nil {
		t.Fatal(err)
	}
	if got.Failed != 1 || len(got.Problems) != 1 || got.Problems[0].Path != name(5) || !errors.Is(got.Problems[0].Err, errDiffers) {
		t.Errorf("%+v", got)
	}
}

// A lossy engine changes one bit of the state of a series.
type lossy struct{ core.Engine }

func (l *lossy) Import(ctx context.Context, copies []core.Copy, overwrite bool) ([]core.Created, error) {
	copies = slices.Clone(copies)
	for i := range copies {
		if copies[i].Path == name(5) {
			copies[i].Rows = slices.Clone(copies[i].Rows)
			copies[i].Rows[0] = slices.Clone(copies[i].Rows[0])
			copies[i].Rows[0][len(copies[i].Rows[0])-1] += 1
		}
	}
	return l.Engine.Import(ctx, copies, overwrite)
}
