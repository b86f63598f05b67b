package search_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/search"
	"github.com/rondo-db/rondo/rra"
)

func TestSearchByPattern(t *testing.T) {
	s := enginetest.Open(t)
	x := made(t, s, "collectd/web1/load/load", "collectd/web2/load/load", "collectd/Web3/load/load", "collectd/db1/load/load", "collectd/db1/cpu-0/cpu-idle", "a/b/c/d", "load")
	for _, tt := range []struct {
		text  string
		found int
		want  string
	}{
		{"collectd/*/load/load", 4, "collectd/Web3/load/load collectd/db1/load/load collectd/web1/load/load collectd/web2/load/load"},
		{"web?/load/*", 3, "collectd/Web3/load/load collectd/web1/load/load collectd/web2/load/load"},
		{"*/load", 4, "collectd/Web3/load/load collectd/db1/load/load collectd/web1/load/load collectd/web2/load/load"},
		{"loa?", 5, "load collectd/Web3/load/load collectd/db1/load/load collectd/web1/load/load collectd/web2/load/load"},
		{"collectd/**/*idle", 1, "collectd/db1/cpu-0/cpu-idle"},
		{"a/**/**/d", 1, "a/b/c/d"},
		{"a/**/b/c/d", 1, "a/b/c/d"},
		{"b/*", 0, ""},
		{"*/load db1", 1, "collectd/db1/load/load"},
		{"load/*[", 0, ""},
	} {
		hits, found, err := x.Search(t.Context(), tt.text, 100, nil)
		if got := strings.Join(pathsOf(hits), " "); err != nil || found != tt.found || got != tt.want {
			t.Errorf("%s: %d, %s, %v", tt.text, found, got, err)
		}
	}
	hits, found, err := x.Search(t.Context(), "collectd/*/load/load", 2, nil)
	if err != nil || len(hits) != 2 || found != 4 {
		t.Errorf("two of four: %v of %d, %v", pathsOf(hits), found, err)
	}
	hits, found, err = x.Search(t.Context(), "*/load", 9, []string{"collectd/db1"})
	if err != nil || found != 1 || !slices.Equal(pathsOf(hits), []string{"collectd/db1/load/load"}) {
		t.Errorf("within a folder: %v of %d, %v", pathsOf(hits), found, err)
	}
	for _, text := range []string{"a* b*", strings.Repeat("a/", 30) + "*", "*" + strings.Repeat("a", search.MaxWord)} {
		if _, _, err := x.Search(t.Context(), text, 9, nil); !errors.Is(err, search.ErrQuery) {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}

func TestSearchByLabels(t *testing.T) {
	s := enginetest.Open(t)
	for _, path := range []string{"x/one/load", "x/two/load", "x/two/cpu"} {
		labels := []core.Label{{Name: "host", Value: strings.Split(path, "/")[1]}, {Name: "zone", Value: "a(b"}}
		if _, err := s.Create(t.Context(), core.Spec{Path: path, Labels: labels, Definition: definition(t), Start: rra.Seconds(epoch)}); err != nil {
			t.Fatal(err)
		}
	}
	x := search.New(s)
	t.Cleanup(x.Close)
	for text, want := range map[string]string{
		"host=two": "x/two/cpu x/two/load", "host=t* */load": "x/two/load", "zone=a(b cpu": "x/two/cpu", "host=Two": "", "zone=*(b host=one": "x/one/load", "nosuch=1": "",
	} {
		hits, found, err := x.Search(t.Context(), text, 9, nil)
		if got := strings.Join(pathsOf(hits), " "); err != nil || got != want || found != len(hits) {
			t.Errorf("%s: %s of %d, %v", text, got, found, err)
		}
	}
}

// TestSearchForNamesThatLookLikeLabels: Influx' tags stand in paths, and may be copied from there, or
// be typed in part.
func TestSearchForNamesThatLookLikeLabels(t *testing.T) {
	s := enginetest.Open(t)
	x := search.New(s)
	t.Cleanup(x.Close)
	labelled(t, s, "influx/cpu/cpu=cpu0,host=web1/idle cpu=cpu0 host=web1", "influx/mem/host=web1/free host=web1", "influx/mem/host=web2/free host=web2")
	for text, want := range map[string]string{
		"host=web1":               "influx/cpu/cpu=cpu0,host=web1/idle influx/mem/host=web1/free",
		"cpu=cpu0,host=web1":      "influx/cpu/cpu=cpu0,host=web1/ influx/cpu/cpu=cpu0,host=web1/idle",
		"cpu=cpu0,host=web1 idle": "influx/cpu/cpu=cpu0,host=web1/idle",
		"host=web2 fre":           "influx/mem/host=web2/free",
		"host=we":                 "influx/cpu/cpu=cpu0,host=web1/ influx/mem/host=web1/ influx/mem/host=web2/ influx/cpu/cpu=cpu0,host=web1/idle influx/mem/host=web1/free influx/mem/host=web2/free",
		"host=w*3":                "",
		"host=db":                 "",
	} {
		hits, _, err := x.Search(t.Context(), text, 100, nil)
		got := pathsOf(hits)
		slices.Sort(got)
		sorted := strings.Fields(want)
		slices.Sort(sorted)
		if err != nil || !slices.Equal(got, sorted) {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}
