package core_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// paths collects what an iterator yields.
func paths(t testing.TB, seq iter.Seq2[core.Series, error]) (out []string) {
	t.Helper()
	for x, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, x.Path)
	}
	return out
}

// A bruteCatalogue is what the catalogue must say.
type bruteCatalogue map[string]core.Series // by path without .rrd

func (b bruteCatalogue) list(prefix, after string) (out []string) {
	for _, k := range slices.Sorted(maps.Keys(b)) {
		if strings.HasPrefix(b[k].Path, prefix) && k > after {
			out = append(out, b[k].Path)
		}
	}
	return out
}

func (b bruteCatalogue) selected(ms []core.Matcher) (out []string) {
	var found []core.Series
	for _, x := range b {
		ok := true
		for _, m := range ms {
			value := ""
			for _, l := range x.Labels {
				if l.Name == m.Name {
					value = l.Value
				}
			}
			switch m.Op {
			case core.MatchEqual:
				ok = ok && value == m.Value
			case core.MatchNotEqual:
				ok = ok && value != m.Value
			case core.MatchRegexp:
				ok = ok && m.Regexp.MatchString(value)
			case core.MatchNotRegexp:
				ok = ok && !m.Regexp.MatchString(value)
			case core.MatchBelow:
				key := strings.TrimSuffix(x.Path, ".rrd")
				ok = ok && slices.ContainsFunc(m.Folders, func(f string) bool { return key == f || strings.HasPrefix(key, f+"/") })
			}
		}
		if ok {
			found = append(found, x)
		}
	}
	slices.SortFunc(found, func(a, b core.Series) int {
		if a.Ref < b.Ref {
			return -1
		}
		return 1
	})
	for _, x := range found {
		out = append(out, x.Path)
	}
	return out
}

func (b bruteCatalogue) labels(name string) (names, values []string) {
	n, v := make(map[string]bool), make(map[string]bool)
	for _, x := range b {
		for _, l := range x.Labels {
			n[l.Name] = true
			if l.Name == name {
				v[l.Value] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(n)), slices.Sorted(maps.Keys(v))
}

// compareIndex compares what the label index says of the series that match ms with brute force.
func (b bruteCatalogue) compareIndex(t testing.TB, s *core.Store, r *rand.Rand, ms []core.Matcher) {
	t.Helper()
	ctx := context.Background()
	match := make(bruteCatalogue)
	for _, path := range b.selected(ms) {
		match[strings.TrimSuffix(path, ".rrd")] = b[strings.TrimSuffix(path, ".rrd")]
	}
	refs, err := core.Refs(ctx, s, ms)
	if err != nil || len(refs) != len(match) || !slices.IsSorted(refs) {
		t.Fatalf("%v: references %v, %v; want %d", ms, refs, err, len(match))
	}
	if err := s.Resolve(ctx, refs, func(i int, x core.Series) bool {
		if want := match[strings.TrimSuffix(x.Path, ".rrd")]; x.Ref != refs[i] || !slices.Equal(x.Labels, want.Labels) {
			t.Fatalf("%v: reference %d is %v, want %v", ms, refs[i], x, want)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	name := pick(r, "host", "cpu", "none")
	wantNames, wantValues := match.labels(name)
	names, err := s.Labels(ctx, core.LabelQuery{Matchers: ms})
	if err != nil || !slices.Equal(names.Texts, wantNames) {
		t.Fatalf("%v: names %q, %v; want %q", ms, names, err, wantNames)
	}
	most := r.IntN(4)
	if most > 0 && len(wantValues) > most {
		wantValues = wantValues[:most]
	}
	values, err := s.Labels(ctx, core.LabelQuery{Name: name, Matchers: ms, Most: most})
	if err != nil || !slices.Equal(values.Texts, wantValues) {
		t.Fatalf("%v: %d values of %q: %q, %v; want %q", ms, most, name, values, err, wantValues)
	}
	want := make(map[string]bool)
	for _, x := range match {
		values := make(map[string]string)
		for _, l := range x.Labels {
			values[l.Name] = l.Value
		}
		want[values["host"]+" "+values["cpu"]] = true
	}
	all, err := s.Labels(ctx, core.LabelQuery{Combine: true, Names: []string{"host", "cpu"}, Matchers: ms})
	got := make(map[string]bool)
	for _, c := range all.Combinations {
		got[strings.Join(c.Values, " ")] = c.Definition != nil
	}
	if err != nil || !maps.Equal(got, want) {
		t.Fatalf("%v: combinations %v, %v; want %v", ms, got, err, want)
	}
}

// compare holds everything the catalogue answers against brute force.
func (b bruteCatalogue) compare(t testing.TB, s *core.Store, r *rand.Rand) {
	t.Helper()
	ctx := context.Background()
	equal := func(what string, got, want []string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Fatalf("%s:\n%q, want\n%q", what, got, want)
		}
	}
	keys := slices.Sorted(maps.Keys(b))
	prefixes := []string{"", "a", "a/", "a/1", "a/10.rrd", "b/x", "zz"}
	afters := []string{"", "a", "a/1", "b", "zzz"}
	if len(keys) > 0 {
		afters = append(afters, pick(r, keys...))
	}
	for _, p := range prefixes {
		for _, a := range afters {
			equal(fmt.Sprintf("list %q after %q", p, a), paths(t, s.Select(ctx, core.Query{Prefix: p, After: a, Order: core.ByPath})), b.list(p, a))
		}
	}
	for i := range 20 {
		var ms []core.Matcher
		if i < 3 { // answered by the index
			ms = append(ms, core.Matcher{Name: "host", Value: "h1"}, core.Matcher{Name: "cpu", Value: fmt.Sprint(i)})
		}
		for range r.IntN(4) {
			m := core.Matcher{Name: pick(r, "host", "cpu", "none", "x"), Op: core.MatchOp(r.IntN(4)), Value: pick(r, "", "h1", "h2", "0", "3")}
			if m.Op >= core.MatchRegexp {
				m.Regexp = regexp.MustCompile("^(?:" + pick(r, "", "h.*", "h1|h2", ".+", "[0-3]", ".*", "h[12]?", "|h1", "(h|x)1", "h(.|1)", "(?i)H1", "[^0]", "h1|.*2") + ")$")
			}
			ms = append(ms, m)
		}
		if r.IntN(3) == 0 {
			all := []string{"a", "a/b", "/b/", "a/x1", "b/1.rrd", "a/b/1", "a/../b", "none"}
			r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			ms = append(ms, core.Below(all[:r.IntN(4)]...))
		}
		equal(fmt.Sprintf("select %v", ms), paths(t, s.Select(ctx, core.Query{Matchers: ms, Order: core.ByRef})), b.selected(ms))
		b.compareIndex(t, s, r, ms)
	}
	for _, name := range []string{"host", "cpu", "none", "r0"} {
		wantNames, wantValues := b.labels(name)
		names, err := s.Labels(ctx, core.LabelQuery{})
		if err != nil {
			t.Fatal(err)
		}
		values, err := s.Labels(ctx, core.LabelQuery{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		equal("label names", names.Texts, wantNames)
		equal("values of "+name, values.Texts, wantValues)
	}
	for _, k := range keys {
		for _, name := range []string{k, k + ".rrd", "/" + k, "./" + k, "x/../" + k} {
			if ref, err := s.Lookup(name); err != nil || ref != b[k].Ref {
				t.Fatalf("lookup %q: %#x, %v, want %#x", name, ref, err, b[k].Ref)
			}
		}
	}
	if n := s.Stats().Series; n != int64(len(b)) {
		t.Fatalf("%d series, want %d", n, len(b))
	}
}

// TestCatalogueAgainstBruteForce changes the catalogue at random, part of it in memory and part in
// the database.
func TestCatalogueAgainstBruteForce(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(seedtest.One(t), 3))
	dir := t.TempDir()
	s := enginetest.OpenDir(t, dir, core.Options{NoBackground: true})
	b := make(bruteCatalogue)
	defs := []*rra.Definition{
		definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"),
		definition(t, "DS:a:GAUGE:30:U:U", "RRA:AVERAGE:0.5:1:10"),
		definition(t, "DS:a:GAUGE:30:U:U", "RRA:MAX:0.5:2:10"),
	}
	name := func() string {
		return fmt.Sprintf("%s/%s%d%s", pick(r, "a", "b", "a/b"), pick(r, "", "x"), r.IntN(40), pick(r, "", "", ".rrd"))
	}
	for i := range seedtest.Often(240, 400) {
		p := name()
		key := strings.TrimSuffix(p, ".rrd")
		old, exists := b[key]
		switch r.IntN(9) {
		case 8:
			var labels []core.Label
			for _, n := range []string{"host", "cpu"} {
				if r.IntN(2) > 0 {
					labels = append(labels, core.Label{Name: n, Value: pick(r, "h1", "h2", "0", "3")})
				}
			}
			out, err := s.Relabel(ctx, []core.PathLabels{{Path: "../bad"}, {Path: p, Labels: labels}})
			if err != nil || out[0] == nil || exists != (out[1] == nil) || out[1] != nil && !errors.Is(out[1], core.ErrNotFound) {
				t.Fatalf("relabel %q: %v, %v, it exists: %v", p, out, err, exists)
			}
			if exists {
				old.Labels = labels
				b[key] = old
			}
		case 0, 1, 2, 3:
			sp := core.Spec{Path: p, Definition: pick(r, defs...), Start: rra.Seconds(programStart), Overwrite: r.IntN(4) == 0}
			if r.IntN(5) > 0 {
				sp.Labels = append(sp.Labels, core.Label{Name: "host", Value: fmt.Sprint("h", r.IntN(4))})
			}
			if r.IntN(3) > 0 {
				sp.Labels = append(sp.Labels, core.Label{Name: "cpu", Value: fmt.Sprint(r.IntN(5))})
			}
			if r.IntN(4) == 0 { // of few series
				sp.Labels = append(sp.Labels, core.Label{Name: fmt.Sprint("r", r.IntN(3)), Value: fmt.Sprint(i)})
			}
			ref, err := s.Create(ctx, sp)
			if exists && !sp.Overwrite {
				if !errors.Is(err, core.ErrExists) || ref != old.Ref {
					t.Fatalf("create %q again: %#x, %v, want ErrExists and %#x", p, ref, err, old.Ref)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			b[key] = core.Series{Ref: ref, Path: p, Labels: sp.Labels}
		case 4:
			if err := core.Drop(ctx, s, p); exists != (err == nil) || err != nil && !errors.Is(err, core.ErrNotFound) {
				t.Fatalf("drop %q: %v, it exists: %v", p, err, exists)
			}
			delete(b, key)
		case 5:
			to := name()
			toKey := strings.TrimSuffix(to, ".rrd")
			_, taken := b[toKey]
			taken = taken && toKey != key
			err := s.Rename(ctx, p, to)
			switch {
			case !exists && !errors.Is(err, core.ErrNotFound), exists && taken && !errors.Is(err, core.ErrExists), exists && !taken && err != nil:
				t.Fatalf("rename %q to %q: %v; it exists: %v, the other: %v", p, to, err, exists, taken)
			case err == nil:
				delete(b, key)
				old.Path = to
				b[toKey] = old
			}
		case 6:
			if r.IntN(3) == 0 {
				if err := s.Checkpoint(ctx); err != nil {
					t.Fatal(err)
				}
			}
		case 7:
			if r.IntN(4) == 0 {
				to := copyStore(t, dir)
				_ = s.Close()
				s, dir = enginetest.OpenDir(t, to, core.Options{NoBackground: true}), to
			}
		}
		if i%40 == 39 {
			b.compare(t, s, r)
		}
	}
}

func TestBadPaths(t *testing.T) {
	s := enginetest.Open(t)
	def := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	for _, p := range []string{"", "/", ".", "..", "../a", "a/../..", "a/../../b", ".rrd", "a/.rrd", "a\x00b", strings.Repeat("x", 5000), "//"} {
		if _, err := s.Create(context.Background(), core.Spec{Path: p, Definition: def}); err == nil {
			t.Errorf("create %.20q: no error", p)
		}
		if _, err := s.Lookup(p); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("lookup %.20q: %v, want ErrNotFound", p, err)
		}
	}
	for _, tt := range []struct{ path, clean string }{
		{"/a//b/./c", "a/b/c"}, {"x/../y", "y"}, {"e.rrd", "e.rrd"}, {"f.rrd.rrd", "f.rrd.rrd"}, {"..g/h", "..g/h"}, {"sp ace/ü", "sp ace/ü"},
	} {
		ref := mustCreate(t, s, tt.path, def)
		if x, err := s.Series(ref); err != nil || x.Path != tt.clean {
			t.Errorf("path of %q: %q, %v, want %q", tt.path, x.Path, err, tt.clean)
		}
	}
}

// The log holds what a batch made of itself: the same name twice, and over an older one.
func TestDuplicatesInABatch(t *testing.T) {
	dir := t.TempDir()
	s := enginetest.OpenDir(t, dir, core.Options{NoBackground: true})
	def := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	out, err := s.CreateBatch(context.Background(), []core.Spec{
		{Path: "a", Definition: def}, {Path: "a.rrd", Definition: def}, {Path: "/a", Definition: def, Overwrite: true}, {Path: "b", Definition: def},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out[0].Err != nil || !errors.Is(out[1].Err, core.ErrExists) || out[1].Ref != out[0].Ref || out[2].Err != nil || out[2].Ref == out[0].Ref || out[3].Err != nil {
		t.Errorf("outcomes: %v", out)
	}
	for _, x := range []*core.Store{s, crash(t, dir, core.Options{})} {
		if ref, err := x.Lookup("a"); err != nil || ref != out[2].Ref {
			t.Errorf("lookup: %#x, %v, want %#x", ref, err, out[2].Ref)
		}
		if got := paths(t, x.Select(context.Background(), core.Query{Order: core.ByPath})); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("list: %q", got)
		}
	}
}

// TestManySeries: a question for few series does not look at all of them.
func TestManySeries(t *testing.T) {
	ctx := context.Background()
	n := seedtest.Often(10_000, 30_000)
	dir := t.TempDir()
	s := enginetest.OpenDir(t, dir, core.Options{NoBackground: true})
	def := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	var specs []core.Spec
	for i := range n {
		specs = append(specs, core.Spec{
			Path: fmt.Sprintf("h%04d/s%02d", i/100, i%100), Definition: def, Start: rra.Seconds(programStart),
			Labels: []core.Label{{Name: "host", Value: fmt.Sprint(i / 100)}, {Name: "s", Value: fmt.Sprint(i % 100)}},
		})
	}
	for chunk := range slices.Chunk(specs, 10_000) {
		if _, err := s.CreateBatch(ctx, chunk); err != nil {
			t.Fatal(err)
		}
	}
	ask := func() {
		t.Helper()
		if got := len(paths(t, s.Select(ctx, core.Query{Prefix: "h0042/", Order: core.ByPath}))); got != 100 {
			t.Fatalf("%d series of a host, want 100", got)
		}
		if got := len(paths(t, s.Select(ctx, core.Query{Matchers: []core.Matcher{{Name: "host", Value: "42"}, {Name: "s", Op: core.MatchRegexp, Regexp: regexp.MustCompile("^1.$")}}, Order: core.ByRef}))); got != 10 {
			t.Fatalf("%d series match, want 10", got)
		}
	}
	ask()
	if err := s.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, s, dir, core.Options{NoBackground: true})
	quickest := func(fn func()) time.Duration { // the machine may be busy, but not each time
		least := time.Hour
		for range 20 {
			began := time.Now()
			fn()
			least = min(least, time.Since(began))
		}
		return least
	}
	few := quickest(ask)
	all := quickest(func() {
		if got := len(paths(t, s.Select(ctx, core.Query{Order: core.ByPath}))); got != n {
			t.Fatalf("%d series, want %d", got, n)
		}
	})
	t.Logf("%d series: two questions for few in %v, one for all in %v", n, few, all)
	if few > all/3 {
		t.Errorf("two questions for a hundred series of %d took %v, one for all %v: they look at all", n, few, all)
	}
}
