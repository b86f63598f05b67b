package search_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/search"
	"github.com/rondo-db/rondo/rra"
)

const epoch = 1_700_000_000

func definition(t testing.TB) *rra.Definition {
	t.Helper()
	d, err := rra.ParseDefinition(10, []string{"DS:value:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// made makes series and returns the store's index.
func made(t testing.TB, s *core.Store, paths ...string) *search.Index {
	t.Helper()
	specs := make([]core.Spec, len(paths))
	for i, p := range paths {
		specs[i] = core.Spec{Path: p, Definition: definition(t), Start: rra.Seconds(epoch)}
	}
	out, err := s.CreateBatch(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range out {
		if out[i].Err != nil {
			t.Fatal(out[i].Err)
		}
	}
	x := search.New(s)
	t.Cleanup(x.Close)
	return x
}

func pathsOf(hits []search.Hit) (out []string) {
	for _, h := range hits {
		if h.Folder {
			h.Path += "/"
		}
		out = append(out, h.Path)
	}
	return out
}

func TestSearchRanks(t *testing.T) {
	s := enginetest.Open(t)
	x := made(
		t, s, "collectd/web1/cpu-0/cpu-idle", "collectd/web1/load/load", "collectd/web10/load/load", "collectd/oldweb1/load/load",
		"collectd/Db1/df-root/df_complex-used", "web1", "plain.rrd",
	)
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"nosuch", nil},
		{"load nosuch", nil},
		{"web1", []string{"collectd/web1/", "collectd/web10/", "collectd/oldweb1/", "web1", "collectd/web1/load/load", "collectd/web1/cpu-0/cpu-idle", "collectd/web10/load/load", "collectd/oldweb1/load/load"}},
		{"WEB1 LOAD", []string{"collectd/web1/load/", "collectd/web10/load/", "collectd/oldweb1/load/", "collectd/web1/load/load", "collectd/web10/load/load", "collectd/oldweb1/load/load"}},
		{"db1", []string{"collectd/Db1/", "collectd/Db1/df-root/df_complex-used"}},
		{"web1/lo", []string{"collectd/web1/load/", "collectd/oldweb1/load/", "collectd/web1/load/load", "collectd/oldweb1/load/load"}},
		{"/web1/load/load", []string{"collectd/web1/load/load"}},
		{"plain", []string{"plain.rrd"}},
		{"plain.rrd", []string{"plain.rrd"}},
	} {
		hits, found, err := x.Search(t.Context(), tt.text, 100, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, pathsOf(hits)); diff != "" || found != len(hits) {
			t.Errorf("%q: %d found, hits (-want +got):\n%s", tt.text, found, diff)
		}
	}
	hits, found, err := x.Search(t.Context(), "load", 3, nil)
	if err != nil || len(hits) != 3 || found <= 3 {
		t.Errorf("three of many: %v of %d, %v", pathsOf(hits), found, err)
	}
	for _, text := range []string{"a b c d e f g h i", strings.Repeat("x", 257), strings.Repeat("x ", 1e4)} {
		if _, _, err := x.Search(t.Context(), text, 3, nil); !errors.Is(err, search.ErrQuery) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

func TestSearchFindsLabelsUnitsAndDescriptions(t *testing.T) {
	s := enginetest.Open(t)
	x := made(t, s, "rrdd/one/host/a", "rrdd/one/host/b")
	ask := func(text string, want ...string) {
		t.Helper()
		hits, _, err := x.Search(t.Context(), text, 10, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, pathsOf(hits)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	ask("temperature")
	meta := core.PathMetadata{Path: "rrdd/one/host/a", Metadata: core.Metadata{Time: 1, Attributes: []core.Label{
		{Name: "description", Value: "Temperature of the inlet"}, {Name: "source", Value: "nobody looks for"}, {Name: "units", Value: "degC"},
	}}}
	if _, err := s.SetMetadata(t.Context(), []core.PathMetadata{meta}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Relabel(t.Context(), []core.PathLabels{{Path: "rrdd/one/host/b", Labels: []core.Label{{Name: "room", Value: "Cellar"}}}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		ask("temperature", "rrdd/one/host/a")
		ask("host degc inlet", "rrdd/one/host/a")
		ask("nobody")
		ask("cellar", "rrdd/one/host/b")
		x.Close() // and anew
	}
	meta.Metadata = core.Metadata{}
	if _, err := s.SetMetadata(t.Context(), []core.PathMetadata{meta}); err != nil {
		t.Fatal(err)
	}
	ask("temperature")
}

// The index must say the same as a walk over the catalogue, whatever changes between two requests.
func TestIndexFollowsTheCatalogue(t *testing.T) {
	r := seedtest.Rand(t)
	s := enginetest.Open(t)
	x := made(t, s)
	name := func() string {
		return fmt.Sprintf("%c/%c%d/x%d%s", 'a'+r.IntN(3), 'm'+r.IntN(3), r.IntN(3), r.IntN(6), []string{"", ".rrd"}[r.IntN(2)])
	}
	d := definition(t)
	for round := range 120 {
		for range r.IntN(20) {
			p := name()
			switch r.IntN(4) {
			case 0: // these may fail: the name may be there, or not
				_ = core.Drop(t.Context(), s, p)
			case 1:
				_ = s.Rename(t.Context(), p, name())
			default:
				_, _ = s.Create(t.Context(), core.Spec{Path: p, Definition: d, Start: rra.Seconds(epoch), Overwrite: r.IntN(2) == 0})
			}
		}
		if r.IntN(10) == 0 {
			x.Close()
		}
		for _, text := range []string{"a", "m1", "x2", "m1/x", "b n2 x", "rrd"} {
			var want []string
			for e, err := range s.Select(t.Context(), core.Query{Order: core.ByPath}) {
				if err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(strings.Fields(text), func(w string) bool { return !strings.Contains(e.Path, w) }) {
					want = append(want, e.Path)
				}
			}
			hits, _, err := x.Search(t.Context(), text, search.MaxHits, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, h := range hits {
				if !h.Folder {
					got = append(got, h.Path)
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("round %d, %q (-want +got):\n%s", round, text, diff)
			}
		}
		compareTree(t, s, x)
	}
}

// compareTree walks the tree level by level in small pages, and compares it with the catalogue.
func compareTree(t *testing.T, s *core.Store, x *search.Index) {
	t.Helper()
	series := make(map[string]int64)
	for e, err := range s.Select(t.Context(), core.Query{Order: core.ByPath}) {
		if err != nil {
			t.Fatal(err)
		}
		for p := e.Path; p != ""; p = p[:max(strings.LastIndexByte(p, '/'), 0)] {
			series[p]++
		}
	}
	var walk func(prefix string)
	walk = func(prefix string) {
		page, last, total := "", "", 0
		for {
			l, err := x.Level(t.Context(), prefix, 2, page, nil)
			if err != nil {
				t.Fatalf("%q: %v", prefix, err)
			}
			for _, n := range l.Nodes {
				total++
				if n.Series != series[n.Path] || n.Path <= last || !strings.HasSuffix(n.Path, n.Name) {
					t.Fatalf("%q after %q: %+v, want %d series", prefix, last, n, series[n.Path])
				}
				delete(series, n.Path)
				last = n.Path
				if n.IsFolder {
					walk(n.Path)
				}
			}
			if page = l.Next; page == "" {
				if total != l.Total {
					t.Fatalf("%q: %d nodes, the total is %d", prefix, total, l.Total)
				}
				return
			}
		}
	}
	walk("")
	if len(series) > 0 {
		t.Fatalf("not in the tree: %v", series)
	}
}

func TestLevelShowsTops(t *testing.T) {
	s := enginetest.Open(t)
	x := made(t, s, "collectd/old/load/load", "collectd/new/load/load", "collectd/new/cpu-0/cpu-idle", "ganglia/new/load_one", "top", "app/x/y")
	now := time.Unix(epoch+1_000_000, 0)
	for _, p := range []string{"collectd/new/load/load", "app/x/y"} {
		ref, err := s.Lookup(p)
		if err != nil {
			t.Fatal(err)
		}
		var b core.Batch
		b.Add(ref, rra.TimeOf(now), rra.Float(1))
		if err := s.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for page := ""; ; {
		l, err := x.Level(t.Context(), "", 2, page, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range l.Nodes {
			got = append(got, fmt.Sprintf("%s %d %v %v %s", n.Path, n.Series, n.IsSeries, n.Last.Equal(now), n.Spark.Path))
		}
		if page = l.Next; page == "" {
			break
		}
	}
	want := []string{
		"app 1 false true app/x/y",
		"collectd/new 2 false true collectd/new/load/load",
		"collectd/old 1 false false collectd/old/load/load",
		"ganglia/new 1 false false ganglia/new/load_one",
		"top 1 true false top",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	for _, prefix := range []string{"nosuch", "collectd/old/load/load/x"} {
		if _, err := x.Level(t.Context(), prefix, 10, "", nil); !errors.Is(err, search.ErrFolder) {
			t.Errorf("%q: %v", prefix, err)
		}
	}
	if _, err := x.Level(t.Context(), "", 10, "x", nil); !errors.Is(err, search.ErrPage) {
		t.Errorf("a page that was not given: %v", err)
	}
}

// A card has words for the series that it shows, and the unit that its name says.
func TestSparksAreNamed(t *testing.T) {
	x := made(t, enginetest.Open(t), "influx/room/place=cellar/celsius", "influx/cpu/host=web1/usage_percent", `prometheus/j/i/a_b{c="d_e"}`)
	for folder, want := range map[string]string{
		"influx/room": "celsius °C", "influx/cpu": "usage percent %", "prometheus/j": `a_b{c="d_e"} `,
	} {
		l, err := x.Level(t.Context(), folder, 2, "", nil)
		if err != nil || len(l.Nodes) != 1 {
			t.Fatal(folder, l, err)
		}
		if got := l.Nodes[0].Spark.Title + " " + l.Nodes[0].Spark.Unit; got != want {
			t.Errorf("%s: %q, want %q", folder, got, want)
		}
	}
}

// Names that do not fit into the budget are an error that says so, and nothing stays charged.
func TestIndexKeepsWithinTheBudget(t *testing.T) {
	s := enginetest.OpenDir(t, t.TempDir(), core.Options{Memory: 8 << 20})
	paths := make([]string, 5000)
	for i := range paths {
		paths[i] = fmt.Sprintf("%s%d", strings.Repeat("x", 300), i)
	}
	x := made(t, s, paths...)
	before := s.Stats().MemoryBytes
	if _, _, err := x.Search(t.Context(), "x", 1, nil); !errors.Is(err, core.ErrMemory) {
		t.Errorf("got %v", err)
	}
	if n := x.Memory(); n != 0 || s.Stats().MemoryBytes != before {
		t.Errorf("%d bytes stay charged", n)
	}
	small := enginetest.Open(t)
	y := made(t, small, "a/b")
	if n := y.Memory(); n != 0 {
		t.Errorf("%d bytes before anybody asked", n)
	}
	if _, _, err := y.Search(t.Context(), "b", 1, nil); err != nil || y.Memory() == 0 {
		t.Errorf("%v; %d bytes are charged", err, y.Memory())
	}
}

// More changes than a watch keeps must not leave the index behind.
func TestIndexIsMadeAnewAfterTooManyChanges(t *testing.T) {
	s := enginetest.Open(t)
	x := made(t, s, "first")
	x.KeepChanges(10)
	if _, _, err := x.Search(t.Context(), "first", 1, nil); err != nil {
		t.Fatal(err)
	}
	paths := make([]string, 20)
	for i := range paths {
		paths[i] = fmt.Sprintf("many/s%d", i)
	}
	made(t, s, paths...)
	hits, _, err := x.Search(t.Context(), "s19", 5, nil)
	if err != nil || len(hits) != 1 {
		t.Errorf("%v, %v", pathsOf(hits), err)
	}
}

func FuzzSearch(f *testing.F) {
	s := enginetest.Open(f)
	x := made(f, s, "collectd/web1/cpu-0/cpu-idle", "ünïcode/Ẅörld/İ", "a/b/c/d/e/f", "x\u00a0y/z", "plain")
	for _, text := range []string{"web1 cpu", "/", "//", "a//b", "Ü", "İ", "\x00\xff", "/web1/", "b/c d/", "e f/ /a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		hits, _, err := x.Search(t.Context(), text, 5, nil)
		if err != nil && !errors.Is(err, search.ErrQuery) || len(hits) > 5 {
			t.Errorf("%v, %v", hits, err)
		}
		for _, h := range hits {
			if _, err := s.Lookup(h.Path); err != nil && !h.Folder {
				t.Errorf("%q: %v", h.Path, err)
			}
		}
		if l, err := x.Level(t.Context(), text, 5, text, nil); err == nil && len(l.Nodes) > 5 {
			t.Errorf("%d nodes", len(l.Nodes))
		}
	})
}
