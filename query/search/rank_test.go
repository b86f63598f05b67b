package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/seeds"
	"github.com/rondo-db/rondo/query/search"
	"github.com/rondo-db/rondo/rra"
)

// updated gives a series a sample at a time.
func updated(t testing.TB, s *core.Store, path string, at time.Time) {
	t.Helper()
	ref, err := s.Lookup(path)
	if err != nil {
		t.Fatal(err)
	}
	var b core.Batch
	b.Add(ref, rra.TimeOf(at), rra.Float(1))
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
}

// first returns the first host by activity, and how many last updates were read to find it.
func first(t testing.TB, x *search.Index, now time.Time) (path string, reads int) {
	t.Helper()
	before := x.Reads()
	l, err := x.Level(t.Context(), "", true, 1, "", now, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l.Nodes[0].Path, x.Reads() - before
}

// Home read six last updates of every host for each request.
func TestRanksOfHostsAreReadOnce(t *testing.T) {
	s := enginetest.Open(t)
	const hosts = 200
	var paths []string
	for i := range hosts {
		for k := range 6 {
			paths = append(paths, fmt.Sprintf("collectd/h%03d/p/s%d", i, k))
		}
	}
	x := made(t, s, paths...)
	now := time.Unix(epoch+1_000_000, 0)
	updated(t, s, "collectd/h007/p/s0", now)
	path, reads := first(t, x, now)
	if path != "collectd/h007" || reads < hosts || reads > 6*hosts+6 {
		t.Fatalf("%s after %d reads", path, reads)
	}
	// What is read now is the one host that is shown.
	if path, reads = first(t, x, now.Add(time.Second)); path != "collectd/h007" || reads > 6 {
		t.Errorf("a second later: %s after %d reads", path, reads)
	}
	// Silent hosts are looked at again, that which was active just now is not.
	updated(t, s, "collectd/h003/p/s0", now.Add(20*time.Second))
	if path, _ = first(t, x, now.Add(20*time.Second)); path != "collectd/h003" {
		t.Errorf("after an update: %s", path)
	}
	if path, _ = first(t, x, now.Add(time.Hour)); path != "collectd/h003" {
		t.Errorf("an hour later: %s", path)
	}
}

// A host whose only active series is dropped is not active any more.
func TestRankIsForgottenWithItsSeries(t *testing.T) {
	s := enginetest.Open(t)
	x := made(t, s, "collectd/a/p/s0", "collectd/a/p/s1", "collectd/b/p/s0", "collectd/b/p/s1")
	now := time.Unix(epoch+1_000_000, 0)
	updated(t, s, "collectd/a/p/s0", now)
	updated(t, s, "collectd/b/p/s0", now)
	if path, _ := first(t, x, now); path != "collectd/a" {
		t.Fatalf("first is %s", path)
	}
	if err := s.Drop(t.Context(), "collectd/a/p/s0"); err != nil {
		t.Fatal(err)
	}
	if path, _ := first(t, x, now.Add(time.Second)); path != "collectd/b" {
		t.Errorf("after the drop first is %s", path)
	}
}

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
		level, err := x.Level(t.Context(), "", false, 60, "", time.Unix(epoch, 0), nil)
		for _, n := range level.Nodes {
			out += fmt.Sprintln(n.Path, n.Spark.Path)
		}
		return out + fmt.Sprintln(err)
	}
	want := answers(paths)
	r := seeds.Rand(t)
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
