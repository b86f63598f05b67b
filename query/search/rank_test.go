package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// A short word fits nearly all nodes; those that are better than the ones kept so far must be found
// wherever they stand.
func TestShortWordsFindTheBestAmongMany(t *testing.T) {
	s := enginetest.Open(t)
	var paths []string
	for i := range 300 {
		paths = append(paths, fmt.Sprintf("a/deep/long%d/series%d/ex", i, i))
	}
	paths = append(paths, "z/e", "z/e2", "e")
	x := made(t, s, paths...)
	hits, found, err := x.Search(t.Context(), "e", 3, nil)
	if err != nil || found <= 3 {
		t.Fatalf("%d found: %v", found, err)
	}
	got := fmt.Sprint(pathsOf(hits))
	if len(hits) != 3 || hits[len(hits)-2].Path != "e" || hits[len(hits)-1].Path != "z/e" {
		t.Errorf("got %s", got)
	}
}

// TestEqualHitsAreChosenByPath makes the same series in different orders, as the nodes of a cluster
// and a server that was restarted hear of them, and asks for fewer hits than there are.
func TestEqualHitsAreChosenByPath(t *testing.T) {
	paths := []string{"a b/x1/eth", "a/y/if_octets-eth0", "a/z/if_octets-eth1", "a/z2/eth0"}
	for i := range 40 {
		paths = append(paths, fmt.Sprintf("h%d/n%d/load%d", i%4, i%5, 10+i))
	}
	paths = append(paths, strings.Repeat("d/", 300)+"load10", strings.Repeat("d/", 300)+"load11")
	slices.Sort(paths)
	answers := func(paths []string) (out string) {
		s := enginetest.Open(t)
		x := made(t, s)
		if _, _, err := x.Search(t.Context(), "load", 1, nil); err != nil { // the index follows from here on
			t.Fatal(err)
		}
		for _, p := range paths {
			made(t, s, p)
		}
		for _, text := range []string{"load", "h1", "load1", "eth", "a", "z", "d load"} {
			for _, most := range []int{1, 2, 5, 11} {
				hits, found, err := x.Search(t.Context(), text, most, nil)
				out += fmt.Sprintln(text, most, pathsOf(hits), found, err)
			}
		}
		level, err := x.Level(t.Context(), "", 60, "", nil)
		for _, n := range level.Nodes {
			out += fmt.Sprintln(n.Path, n.Spark.Path)
		}
		return out + fmt.Sprintln(err)
	}
	want := answers(paths)
	r := seedtest.Rand(t)
	for range 5 {
		r.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
		if diff := cmp.Diff(want, answers(paths)); diff != "" {
			t.Errorf("made as %q (-want +got):\n%s", paths, diff)
		}
	}
	for _, line := range []string{"load 1 [h0/n0/load10] 42", "a a/y/if_octets-eth0"} {
		if !strings.Contains(want, line) {
			t.Errorf("no %q in\n%s", line, want)
		}
	}
}
