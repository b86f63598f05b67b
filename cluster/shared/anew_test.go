package shared_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/cluster/shared"
)

// faulty has values damaged until they are written again, and loses a request to write.
type faulty struct {
	coord.Store
	mu      *sync.Mutex
	damaged map[string]bool
	sets    *int // until a request is lost
}

func faults(s coord.Store) faulty {
	return faulty{Store: s, mu: new(sync.Mutex), damaged: make(map[string]bool), sets: new(int)}
}

func (f faulty) Get(ctx context.Context, key string) (coord.Entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, err := f.Store.Get(ctx, key)
	if f.damaged[key] && e.Revision > 0 {
		e.Value, e.Damaged = nil, true
	}
	return e, err
}

func (f faulty) CompareAndSet(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if *f.sets--; *f.sets == 0 {
		return 0, coordtest.ErrNoAnswer
	}
	revision, err := f.Store.CompareAndSet(ctx, key, value, revision)
	if err == nil {
		delete(f.damaged, key)
	}
	return revision, err
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
	for lost := 1; lost <= 7; lost++ {
		for _, loss := range []string{"all", "list", "damage"} {
			s := coordtest.New(time.Now, 0)
			f := faults(s.Client("x"))
			dirs := []string{t.TempDir(), t.TempDir()}
			a, b := start(t, f, dirs[0]), start(t, f, dirs[1])
			want := five(t, a, b)
			switch loss {
			case "all":
				s.LoseAll()
			case "list":
				s.Lose("dashboards.list")
			case "damage":
				f.damaged["dashboards.list"] = true
			}
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
				t.Fatalf("%s, request %d", loss, lost)
			}
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
	s.LoseAll()
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

// TestDamagedText: a text that is damaged, or lost, is saved again by a node that has it.
func TestDamagedText(t *testing.T) {
	for _, damage := range []bool{true, false} {
		s := coordtest.New(time.Now, 0)
		f := faults(s.Client("x"))
		a := start(t, f, t.TempDir())
		want := five(t, a)
		all, err := s.Truth().List(t.Context(), "dashboards.text.")
		if err != nil || len(all) != 5 {
			t.Fatal(all, err)
		}
		for _, e := range all[1:3] {
			if f.damaged[e.Key] = damage; !damage {
				s.Lose(e.Key)
			}
		}
		for range 5 {
			a.Look(t.Context())
		}
		start(t, f, t.TempDir()).shows(t, want...)
	}
}

// TestDamagedListIsNotEmpty: who reads all pages, or drops one, gets an error that the list is
// damaged.
func TestDamagedListIsNotEmpty(t *testing.T) {
	f := faults(coordtest.New(time.Now, 0).Client("x"))
	b := shared.Bucket{Store: f}
	save(t, b, "a", "")
	f.damaged["dashboards.list"] = true
	none := func(name, text string, err error) error { return err }
	if err := b.Each(t.Context(), none); err == nil {
		t.Error("no pages, and no error")
	}
	if err := b.Drop(t.Context(), "a"); err == nil {
		t.Error("dropped")
	}
	start(t, f, t.TempDir()).shows(t)
	if err := b.Each(t.Context(), none); err != nil {
		t.Errorf("after a node has looked: %v", err)
	}
}
