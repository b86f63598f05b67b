package core_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// bruteMetadata is what the store must say, by path without .rrd.
type bruteMetadata map[string]core.Metadata

func (b bruteMetadata) compare(t testing.TB, s *core.Store, r *rand.Rand) {
	t.Helper()
	for _, prefix := range []string{"", "a/", "/a/1", "b/1.rrd", "zz"} {
		for _, after := range []string{"", "a/2", "a/10.rrd", "b", "zzz"} {
			var got, want []core.PathMetadata
			for m, err := range s.ListMetadata(t.Context(), core.MetadataQuery{Prefix: prefix, After: after}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, m)
			}
			for _, k := range slices.Sorted(maps.Keys(b)) {
				if strings.HasPrefix(k, strings.TrimPrefix(strings.TrimSuffix(prefix, ".rrd"), "/")) && k > strings.TrimSuffix(after, ".rrd") {
					want = append(want, core.PathMetadata{Path: k, Metadata: b[k]})
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("list %q after %q (-want +got):\n%s", prefix, after, d)
			}
		}
	}
	for range 30 {
		p := fmt.Sprintf("%s/%d", pick(r, "a", "b"), r.IntN(40))
		got, err := s.Metadata(p + pick(r, "", ".rrd"))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(b[p], got); d != "" {
			t.Fatalf("metadata of %q (-want +got):\n%s", p, d)
		}
	}
	if n := s.Stats().Metadata; n != int64(len(b)) {
		t.Fatalf("%d paths with metadata, want %d", n, len(b))
	}
	enginetest.Check(t, s)
}

// TestMetadataAgainstBruteForce changes metadata, series, and what of both is in memory, the log
// and the database, at random; crashes come at points within a checkpoint too.
func TestMetadataAgainstBruteForce(t *testing.T) {
	ctx := t.Context()
	r := rand.New(rand.NewPCG(seedtest.One(t), 31))
	dir := t.TempDir()
	copied := ""
	open := func(dir string) *core.Store {
		return enginetest.OpenDir(t, dir, core.Options{NoBackground: true}.WithHook(func(point string) {
			if copied == "" && strings.HasPrefix(point, "checkpoint") && r.IntN(4) == 0 {
				copied = copyStore(t, dir)
			}
		}))
	}
	s := open(dir)
	b := make(bruteMetadata)
	series := make(map[string]bool)
	def := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	for i := range seedtest.Often(200, 300) {
		p := fmt.Sprintf("%s/%d", pick(r, "a", "b"), r.IntN(40))
		switch r.IntN(10) {
		case 8: // expires, if it has the time it had when somebody looked
			m, known := b[p]
			m.Time += rra.Time(r.IntN(2))
			out, err := s.SetMetadata(ctx, []core.PathMetadata{{Path: p, Metadata: m, Expires: true}})
			if err != nil || out[0] != nil {
				t.Fatal(out, err)
			}
			switch {
			case !known || m.Time != b[p].Time:
			case series[p]:
				b[p] = core.Metadata{Time: m.Time, Expired: true}
			default:
				delete(b, p)
			}
		case 9:
			before := rra.Seconds(programStart + int64(r.IntN(3)-1)) // a series has nothing after programStart
			ref, err := s.Lookup(p)
			if err != nil && !errors.Is(err, core.ErrNotFound) {
				t.Fatal(err)
			}
			n, err := dropAll(ctx, s, []core.Dropping{{Ref: ref, Before: before}, {Before: before}, {Ref: 1 << 60, Before: before}, {Ref: ref, Before: before}})
			want := 0
			if series[p] && before >= rra.Seconds(programStart) {
				want = 1
				delete(b, p)
				delete(series, p)
			}
			if err != nil || n != want {
				t.Fatalf("drop silent %q: %d, %v, want %d", p, n, err, want)
			}
		case 0, 1, 2:
			var ms []core.PathMetadata
			for range 1 + r.IntN(5) {
				m := core.PathMetadata{Path: fmt.Sprintf("%s/%d", pick(r, "a", "b"), r.IntN(40))}
				if r.IntN(4) > 0 {
					m.Time, m.Text = rra.Seconds(programStart+int64(i)), pick(r, "", "up", "läuft")
					m.Expire, m.Expired = int64(r.IntN(3)), r.IntN(5) == 0
					for _, n := range []string{"type", "units"} {
						if r.IntN(2) == 0 {
							m.Attributes = append(m.Attributes, core.Label{Name: n, Value: fmt.Sprint(i)})
						}
					}
				}
				ms = append(ms, m)
				delete(b, m.Path)
				if m.Time != 0 {
					b[m.Path] = m.Metadata
				}
				if r.IntN(2) == 0 {
					ms[len(ms)-1].Path = "/" + m.Path + ".rrd"
				}
			}
			out, err := s.SetMetadata(ctx, ms)
			if err != nil || len(out) != len(ms) || errors.Join(out...) != nil {
				t.Fatalf("set: %v, %v", out, err)
			}
		case 3:
			if _, err := s.Create(ctx, core.Spec{Path: p, Definition: def, Start: rra.Seconds(programStart), Overwrite: true}); err != nil {
				t.Fatal(err)
			}
			series[p] = true
		case 4:
			_, known := b[p]
			if err := core.Drop(ctx, s, p); (err == nil) != (known || series[p]) {
				t.Fatalf("drop %q: %v", p, err)
			}
			delete(b, p)
			delete(series, p)
		case 5:
			to := fmt.Sprintf("a/%d", 100+i)
			if err := s.Rename(ctx, p, to); (err == nil) != series[p] {
				t.Fatalf("rename %q: %v", p, err)
			}
			if series[p] {
				if m, ok := b[p]; ok {
					b[to] = m
				}
				series[to] = true
				delete(b, p)
				delete(series, p)
			}
		case 6:
			if err := s.Checkpoint(ctx); err != nil {
				t.Fatal(err)
			}
			if copied != "" { // what was written then and the log from there
				_ = s.Close()
				dir, copied = copied, ""
				s = open(dir)
			}
		case 7:
			switch r.IntN(3) {
			case 0:
				to := copyStore(t, dir)
				_ = s.Close()
				dir, s = to, open(to)
			case 1:
				var copy bytes.Buffer
				if err := s.Backup(ctx, &copy); err != nil {
					t.Fatal(err)
				}
				_ = s.Close()
				dir = filepath.Join(t.TempDir(), "restored")
				if err := core.Restore(&copy, dir); err != nil {
					t.Fatal(err)
				}
				s = open(dir)
			}
			copied = ""
		}
		if i%20 == 19 {
			b.compare(t, s, r)
		}
	}
}

func TestMetadataLimits(t *testing.T) {
	s := enginetest.OpenDir(t, t.TempDir(), core.Options{MaxSeries: 3})
	mustCreate(t, s, "series", definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"))
	set := func(path string, m core.Metadata) error {
		t.Helper()
		out, err := s.SetMetadata(t.Context(), []core.PathMetadata{{Path: path, Metadata: m}})
		if err != nil {
			t.Fatal(err)
		}
		return out[0]
	}
	text := core.Metadata{Time: 1, Text: "x"}
	for _, tt := range []struct {
		what, path string
		m          core.Metadata
	}{
		{"path that leaves", "../x", text},
		{"long text", "a", core.Metadata{Time: 1, Text: strings.Repeat("x", 20_000)}},
		{"many attributes", "a", core.Metadata{Time: 1, Attributes: slices.Repeat([]core.Label{{Name: "n", Value: "v"}}, 1000)}},
		{"order", "a", core.Metadata{Time: 1, Attributes: []core.Label{{Name: "b", Value: "v"}, {Name: "a", Value: "v"}}}},
		{"twice", "a", core.Metadata{Time: 1, Attributes: []core.Label{{Name: "a", Value: "v"}, {Name: "a", Value: "w"}}}},
		{"expiry", "a", core.Metadata{Time: 1, Expire: -1}},
		{"time", "a", core.Metadata{Time: 1 << 62}},
	} {
		if err := set(tt.path, tt.m); err == nil {
			t.Errorf("%s: no error", tt.what)
		}
	}
	for i := range 5 {
		if err := set(fmt.Sprint("p", i), text); (err == nil) != (i < 3) || i >= 3 && !errors.Is(err, core.ErrSeriesLimit) {
			t.Errorf("path %d: %v", i, err)
		}
	}
	if err := set("p1", text); err != nil {
		t.Errorf("a path that is known: %v", err)
	}
	if err := set("series", text); err != nil {
		t.Errorf("a series: %v", err)
	}
}
