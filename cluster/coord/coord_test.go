package coord_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/cluster/placement"
)

// A clock is moved by the test.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func (c *clock) pass(d time.Duration) { c.t = c.t.Add(d) }

func newClock() *clock { return &clock{time.Unix(1_700_000_000, 0)} }

func announce(t *testing.T, a *coord.Announcer, m coord.Member) {
	t.Helper()
	if err := a.Announce(t.Context(), m, func(coord.Member) bool { return true }); err != nil {
		t.Fatal(err)
	}
}

func look(t *testing.T, w *coord.Watcher) *coord.View {
	t.Helper()
	v, err := w.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestSilence: a node that announces itself no more has lost its leases after 6 s, and no longer
// belongs to the cluster after 10 minutes. When it is heard again it lives at once.
func TestSilence(t *testing.T) {
	c := newClock()
	s := coordtest.New(c.now, 0)
	a, b := coord.Announcer{Store: s.Client("a")}, coord.Announcer{Store: s.Client("b")}
	w := coord.NewWatcher(s.Client("b"), coord.Times{}, c.now)
	announce(t, &a, coord.Member{Name: "a", Session: "1"})
	for i := range 700 {
		announce(t, &b, coord.Member{Name: "b", Session: "1"})
		v := look(t, w)
		if m := v.Members["a"]; m.Live != (i < 6) || m.Gone != (i >= 600) {
			t.Fatalf("after %d s of silence: live %v, gone %v", i, m.Live, m.Gone)
		}
		if m := v.Members["b"]; !m.Live || m.Gone {
			t.Fatalf("who announces itself does not live: %+v", m)
		}
		if want := 1 + map[bool]int{true: 1}[i < 600]; len(v.Placement()) != want {
			t.Fatalf("after %d s %d nodes belong to the cluster, want %d", i, len(v.Placement()), want)
		}
		c.pass(time.Second)
	}
	announce(t, &a, coord.Member{Name: "a", Session: "2"})
	if m := look(t, w).Members["a"]; !m.Live || m.Gone || m.Session != "2" {
		t.Errorf("a node that is heard again: %+v", m)
	}
}

// TestNobodyDiesUnheard: while the servers do not answer, or this process is stopped, no node can
// be heard, and none is taken for dead because of that.
func TestNobodyDiesUnheard(t *testing.T) {
	c := newClock()
	s := coordtest.New(c.now, 0)
	a := coord.Announcer{Store: s.Client("a")}
	w := coord.NewWatcher(s.Client("b"), coord.Times{}, c.now)
	announce(t, &a, coord.Member{Name: "a", Session: "1"})
	look(t, w)
	s.Cut("b", true)
	for range 60 {
		c.pass(time.Second)
		if _, err := w.Look(t.Context()); !errors.Is(err, coordtest.ErrNoAnswer) {
			t.Fatal(err)
		}
	}
	s.Cut("b", false)
	for i := range 10 {
		if m := look(t, w).Members["a"]; m.Live != (i < 4) { // the minute counts as 2 s
			t.Errorf("%d s after the servers are back, live is %v", i, m.Live)
		}
		c.pass(time.Second)
	}
}

// TestOldAnnouncement: a replica of the servers that shows an older announcement does not make a
// silent node live.
func TestOldAnnouncement(t *testing.T) {
	c := newClock()
	s := &shifting{Store: coordtest.New(c.now, 0).Client("x")}
	a := coord.Announcer{Store: s.Store}
	w := coord.NewWatcher(s, coord.Times{}, c.now)
	announce(t, &a, coord.Member{Name: "a", Session: "1"})
	older, _ := s.Store.List(t.Context(), "all.")
	announce(t, &a, coord.Member{Name: "a", Session: "1"})
	newer, _ := s.Store.List(t.Context(), "all.")
	for i := range 10 {
		s.entries = newer
		if i%2 == 1 {
			s.entries = older
		}
		if m := look(t, w).Members["a"]; m.Live != (i < 6) {
			t.Errorf("after %d s, live is %v", i, m.Live)
		}
		c.pass(time.Second)
	}
}

// shifting shows what a test sets.
type shifting struct {
	coord.Store
	entries []coord.Entry
}

func (s *shifting) List(context.Context, string) ([]coord.Entry, error) { return s.entries, nil }

// TestManyPartitions: the leases of the largest map are found.
func TestManyPartitions(t *testing.T) {
	c := newClock()
	st := coordtest.New(c.now, 0).Client("x")
	m, err := placement.New(placement.MaxPartitions, 1, []placement.Member{{Name: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := coord.WriteMap(t.Context(), st, m, 0); err != nil {
		t.Fatal(err)
	}
	for p := range m.Partitions {
		if _, err := coord.WriteLease(t.Context(), st, p, coord.Lease{Term: uint64(p)}, coord.Lease{Term: uint64(p)}.For("a", "1")); err != nil {
			t.Fatal(err)
		}
	}
	for p, l := range look(t, coord.NewWatcher(st, coord.Times{}, c.now)).Leases {
		if l.Term != uint64(p+1) {
			t.Fatalf("partition %d has the lease %+v", p, l)
		}
	}
}

// TestOneNameOneNode: a second process of the same name takes the place of the first one only if it
// may, and the first one then learns of it.
func TestOneNameOneNode(t *testing.T) {
	s := coordtest.New(newClock().now, 0)
	first, second := coord.Announcer{Store: s.Client("1")}, coord.Announcer{Store: s.Client("2")}
	m := coord.Member{Name: "a", Session: "1", Address: "one:1"}
	announce(t, &first, m)
	announce(t, &first, m)
	m2 := coord.Member{Name: "a", Session: "2", Address: "two:1"}
	asked := ""
	err := second.Announce(t.Context(), m2, func(e coord.Member) bool { asked = e.Address; return false })
	if !errors.Is(err, coord.ErrNameTaken) || asked != "one:1" {
		t.Errorf("a second node of the same name: %v, asked about %q", err, asked)
	}
	announce(t, &second, m2)
	no := func(coord.Member) bool { return false }
	if err := first.Announce(t.Context(), m, no); !errors.Is(err, coord.ErrConflict) {
		t.Errorf("the first node announces itself: %v", err)
	}
	if err := first.Announce(t.Context(), m, no); !errors.Is(err, coord.ErrNameTaken) {
		t.Errorf("the first node announces itself again: %v", err)
	}
}

// TestLeases: of two nodes that want a lease one gets it; it holds for its session only, and can be
// handed to another.
func TestLeases(t *testing.T) {
	c := newClock()
	s := coordtest.New(c.now, 0)
	st := s.Client("x")
	m, err := placement.New(3, 2, []placement.Member{{Name: "a"}, {Name: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := coord.WriteMap(t.Context(), st, m, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := coord.WriteMap(t.Context(), st, m, 0); !errors.Is(err, coord.ErrConflict) {
		t.Errorf("a second first map: %v", err)
	}
	a, b := coord.Announcer{Store: st}, coord.Announcer{Store: st}
	announce(t, &a, coord.Member{Name: "a", Session: "1", Partitions: []coord.Standing{{Partition: 0, Current: true}, {Partition: 2, Position: 7}}})
	announce(t, &b, coord.Member{Name: "b", Session: "1"})
	w := coord.NewWatcher(st, coord.Times{}, c.now)
	v := look(t, w)
	if v.Leader(2) != nil || v.Leader(9) != nil || v.Map.Version != 1 || len(v.Leases) != 3 || !v.Current(0, "a") || v.Current(2, "a") || v.Current(0, "b") {
		t.Fatalf("before there is a lease: %+v", v)
	}
	l, err := coord.WriteLease(t.Context(), st, 2, v.Leases[2], v.Leases[2].For("a", "1"))
	if err != nil || l.Term != 1 {
		t.Fatal(l, err)
	}
	if _, err := coord.WriteLease(t.Context(), st, 2, v.Leases[2], v.Leases[2].For("b", "1")); !errors.Is(err, coord.ErrConflict) {
		t.Errorf("a second node takes the lease: %v", err)
	}
	if v = look(t, w); v.Leader(2) == nil || v.Leader(2).Name != "a" || v.Leader(1) != nil {
		t.Errorf("leaders: %+v", v.Leases)
	}
	announce(t, &a, coord.Member{Name: "a", Session: "2"})
	if v = look(t, w); v.Leader(2) != nil {
		t.Errorf("the lease of an earlier session holds: %+v", v.Leases)
	}
	if _, err := coord.WriteLease(t.Context(), st, 2, v.Leases[2], v.Leases[2].For("b", "1")); err != nil {
		t.Error(err)
	}
	if v = look(t, w); v.Leader(2) == nil || v.Leader(2).Name != "b" || v.Leases[2].Term != 2 {
		t.Errorf("after the lease was handed on: %+v", v.Leases)
	}
}

// TestLeaving: a node that has to leave says so to all, until it may stay.
func TestLeaving(t *testing.T) {
	c := newClock()
	st := coordtest.New(c.now, 0).Client("x")
	a := coord.Announcer{Store: st}
	announce(t, &a, coord.Member{Name: "a", Session: "1"})
	w := coord.NewWatcher(st, coord.Times{}, c.now)
	for range 2 {
		for _, leaving := range []bool{true, true, false, false} {
			if err := coord.SetLeaving(t.Context(), st, "a", leaving); err != nil {
				t.Fatal(err)
			}
			if got := look(t, w).Placement(); !slices.Equal(got, []placement.Member{{Name: "a", Leaving: leaving}}) {
				t.Errorf("leaving %v: %+v", leaving, got)
			}
		}
	}
	if err := coord.Forget(t.Context(), st, "a"); err != nil {
		t.Fatal(err)
	}
	if got := look(t, w); len(got.Members) != 0 {
		t.Errorf("a node that was forgotten: %+v", got.Members)
	}
}

// TestUnreadable: what a node of another version says stops nobody else, and its replicas are not
// taken for lost.
func TestUnreadable(t *testing.T) {
	c := newClock()
	st := coordtest.New(c.now, 0).Client("x")
	for _, key := range []string{"all.member.new", "all.other", "all.lease.0", "all.lease.x", "all.lease.-1", "all.lease.9", "all.lease."} {
		if _, err := st.CompareAndSet(t.Context(), key, []byte("!"), 0); err != nil {
			t.Fatal(err)
		}
	}
	m, err := placement.New(2, 1, []placement.Member{{Name: "new"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := coord.WriteMap(t.Context(), st, m, 0); err != nil {
		t.Fatal(err)
	}
	v := look(t, coord.NewWatcher(st, coord.Times{}, c.now))
	if l := v.Leases[0]; l.Revision == 0 || l.Node != "" {
		t.Errorf("a lease that cannot be read: %+v", l)
	}
	if len(v.Problems) != 1 || len(v.Placement()) != 1 || v.Placement()[0].Name != "new" {
		t.Errorf("problems %v, members %v", v.Problems, v.Placement())
	}
}

func TestValidName(t *testing.T) {
	for _, name := range []string{"a", "node-1", "n1.example.com", "A_b"} {
		if !coord.ValidName(name) {
			t.Errorf("%q may be a name", name)
		}
	}
	for _, name := range []string{"", ".", ".a", "a.", "a..b", "a b", "a*", "a>", "ä", string(make([]byte, 64))} {
		if coord.ValidName(name) {
			t.Errorf("%q may not be a name", name)
		}
	}
}
