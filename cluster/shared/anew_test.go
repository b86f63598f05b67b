package shared_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
)

// losing loses a request to write.
type losing struct {
	coord.Store
	sets *int // until a request is lost
}

func (f losing) CompareAndSet(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if *f.sets--; *f.sets == 0 {
		return 0, coordtest.ErrNoAnswer
	}
	return f.Store.CompareAndSet(ctx, key, value, revision)
}

// lose removes the list of dashboards.
func lose(t *testing.T, s *coordtest.Servers) {
	t.Helper()
	e, err := s.Truth().Get(t.Context(), "dashboards.list")
	if err == nil {
		err = s.Truth().Delete(t.Context(), e.Key, e.Revision)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// five saves five pages, and lets nodes see them.
func five(t *testing.T, nodes ...*node) (want []string) {
	t.Helper()
	for i := range 5 {
		save(t, nodes[0], fmt.Sprint("p", i), fmt.Sprint("title: ", i))
		want = append(want, fmt.Sprintf("p%d=title: %d", i, i))
	}
	for _, n := range nodes {
		n.Look(t.Context())
		n.shows(t, want...)
	}
	return want
}

// TestLostListComesBackWhole: whichever request is lost while a node puts back what the servers
// have lost, no page is missing on any node, not even meanwhile.
func TestLostListComesBackWhole(t *testing.T) {
	for lost := 1; lost <= 11; lost++ {
		s := coordtest.New(time.Now, 0)
		f := losing{s.Client("x"), new(int)}
		dirs := []string{t.TempDir(), t.TempDir()}
		a, b := start(t, f, dirs[0]), start(t, f, dirs[1])
		want := five(t, a, b)
		lose(t, s)
		*f.sets = lost
		for i := range 4 {
			for _, n := range []*node{a, b} {
				n.Look(t.Context())
				a.shows(t, want...)
				b.shows(t, want...)
			}
			if i == 0 {
				b = start(t, f, dirs[1])
			}
		}
		*f.sets = 0 // no more is lost
		start(t, s.Client("new"), t.TempDir()).shows(t, want...)
		if err := a.Drop(t.Context(), "p3"); err != nil {
			t.Fatal(err)
		}
		start(t, f, dirs[1]).shows(t, slices.Delete(slices.Clone(want), 3, 4)...)
		if t.Failed() {
			t.Fatalf("request %d", lost)
		}
	}
}

// TestOthersBringTheirPages: a list that began anew gets the pages of nodes that were not there
// then, and were restarted since.
func TestOthersBringTheirPages(t *testing.T) {
	s := coordtest.New(time.Now, 0)
	dir := t.TempDir()
	a, b := start(t, s.Client("a"), t.TempDir()), start(t, s.Client("b"), dir)
	want := five(t, b, a)
	if err := a.Drop(t.Context(), "p0"); err != nil {
		t.Fatal(err)
	}
	save(t, b, "late", "")
	lose(t, s)
	save(t, a, "p1", "title: new") // the list begins with that
	a.Look(t.Context())
	b = start(t, s.Client("b"), dir)
	for range 2 {
		b.Look(t.Context())
		a.Look(t.Context())
	}
	want[1] = "p1=title: new"
	want = append([]string{"late="}, want...) // b had not seen that p0 was dropped
	a.shows(t, want...)
	b.shows(t, want...)
}
