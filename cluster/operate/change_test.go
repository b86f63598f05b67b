package operate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/operate"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/wal"
)

// absent returns the node without a replica of a partition of a cluster of three nodes.
func absent(p placement.Partition) string {
	for _, n := range []string{"a", "b", "c"} {
		if !p.Has(n) {
			return n
		}
	}
	return ""
}

func TestMoveLeadAndRelease(t *testing.T) {
	w := newWorld(t, 3, 2, "a", "b", "c")
	o, before := w.operator(), w.look().Map.Partitions[1]
	from, to := before.Nodes[1], absent(before)
	if note, err := o.Move(t.Context(), 1, from, to); err != nil || note != "" {
		t.Fatal(note, err)
	}
	v := w.look()
	if p := v.Map.Partitions[1]; p.Move == nil || *p.Move != (placement.Move{To: to, From: from}) || !p.Held {
		t.Errorf("partition 1 is %+v", p)
	}
	if _, err := o.Move(t.Context(), 1, from, to); !errors.Is(err, operate.ErrRefused) || !strings.Contains(err.Error(), "already") {
		t.Errorf("the same again: %v", err)
	}
	if err := o.Lead(t.Context(), 1, from); !errors.Is(err, operate.ErrRefused) {
		t.Errorf("what moves away is to lead: %v", err)
	}

	two := w.look().Map.Partitions[2]
	if err := o.Lead(t.Context(), 2, two.Nodes[1]); err != nil {
		t.Fatal(err)
	}
	if p := w.look().Map.Partitions[2]; p.Nodes[0] != two.Nodes[1] || !p.Held {
		t.Errorf("partition 2 is %+v", p)
	}
	version := w.look().Map.Version
	if err := o.Lead(t.Context(), 2, two.Nodes[1]); err != nil || w.look().Map.Version != version {
		t.Errorf("what is so already: %v", err)
	}
	if err := o.Release(t.Context(), 2); err != nil || w.look().Map.Partitions[2].Held {
		t.Errorf("still held: %v", err)
	}
}

// TestMoveRefuses: a mistake changes nothing, and the error says what is wrong.
func TestMoveRefuses(t *testing.T) {
	w := newWorld(t, 3, 2, "a", "b", "c")
	o, v := w.operator(), w.look()
	p := v.Map.Partitions[0]
	x, y, z := p.Nodes[0], p.Nodes[1], absent(p)
	move := func(partition int, from, to string) error {
		_, err := o.Move(t.Context(), partition, from, to)
		return err
	}
	check := func(err, kind error, text string) {
		t.Helper()
		if !errors.Is(err, kind) || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %v: %s", err, kind, text)
		}
	}
	check(move(3, x, z), operate.ErrUnknown, "there is no partition 3: the cluster has 0 to 2")
	check(move(-1, x, z), operate.ErrUnknown, "there is no partition -1")
	check(move(0, "nosuch", z), operate.ErrUnknown, `there is no node "nosuch": the cluster has a, b, c`)
	check(move(0, x, ""), operate.ErrUnknown, `there is no node ""`)
	check(move(0, z, x), operate.ErrRefused, fmt.Sprintf("node %s has no replica of partition 0: %s and %s have one", z, x, y))
	check(move(0, x, y), operate.ErrRefused, fmt.Sprintf("node %s has a replica of partition 0 already", y))
	check(o.Lead(t.Context(), 0, z), operate.ErrRefused, "so it cannot lead it")
	check(o.Lead(t.Context(), 9, z), operate.ErrUnknown, "no partition 9")
	check(o.Release(t.Context(), 9), operate.ErrUnknown, "no partition 9")

	w.nodes[z].says.Stopping = true
	check(move(0, x, z), operate.ErrRefused, "is stopping")
	w.nodes[z].says.Stopping = false
	w.stand(y, coord.Standing{Partition: 0, Position: 3})
	check(move(0, x, z), operate.ErrRefused, "is not current: a move would leave one current replica less")
	check(o.Lead(t.Context(), 0, y), operate.ErrRefused, "cannot lead partition 0 now")
	w.stand(y, coord.Standing{Partition: 0, Position: 100, Current: true})
	if err := coord.SetLeaving(t.Context(), w.store, z, true); err != nil {
		t.Fatal(err)
	}
	check(move(0, x, z), operate.ErrRefused, "is to leave and takes no replica: rondo cluster drain --undo "+z)
	w.nodes[z].mute = true
	w.state(8)
	check(move(0, x, z), operate.ErrRefused, "is silent")
	if got := w.look().Map; got.Version != v.Map.Version {
		t.Errorf("the map has changed: %+v", got)
	}

	none := &operate.Operator{Store: w.store, Look: func(context.Context) (*coord.View, error) { return &coord.View{}, nil }}
	check(none.Drain(t.Context(), "a"), operate.ErrRefused, "there is no cluster yet")
	cut := w.servers.Client("operator")
	w.servers.Cut("operator", true)
	lost := &operate.Operator{Store: cut, Look: func(context.Context) (*coord.View, error) { return v, nil }}
	check(lost.Lead(t.Context(), 0, x), operate.ErrUnsure, "it may have been done or not")
	check(lost.Drain(t.Context(), x), operate.ErrUnsure, "it may have been done or not")
}

// TestMoveMeetsOthers: a change that meets another one is made on what is there then.
func TestMoveMeetsOthers(t *testing.T) {
	w := newWorld(t, 3, 2, "a", "b", "c")
	v := w.look()
	stale := 3
	o := &operate.Operator{Store: w.store, Pause: 1, Look: func(context.Context) (*coord.View, error) {
		if stale--; stale >= 0 {
			return v, nil
		}
		return w.look(), nil
	}}
	other, err := v.Map.Apply(placement.Change{Kind: placement.Hold, Partition: 2})
	if err == nil {
		_, err = coord.WriteMap(t.Context(), w.store, other, v.MapRevision)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := v.Map.Partitions[0]
	if err := o.Lead(t.Context(), 0, p.Nodes[1]); err != nil {
		t.Fatal(err)
	}
	if got := w.look().Map; got.Partitions[0].Nodes[0] != p.Nodes[1] || !got.Partitions[2].Held || stale >= 0 {
		t.Errorf("the map is %+v", got)
	}
}

func TestMoveIntoOneZone(t *testing.T) {
	w := newWorld(t, 1, 2, "a", "b", "c")
	p := w.look().Map.Partitions[0]
	to := absent(p)
	w.nodes[p.Nodes[0]].says.Zone, w.nodes[p.Nodes[1]].says.Zone, w.nodes[to].says.Zone = "r1", "r2", "r1"
	note, err := w.operator().Move(t.Context(), 0, p.Nodes[1], to)
	if want := fmt.Sprintf("nodes %s and %s are both in zone r1", p.Nodes[0], to); err != nil || !strings.Contains(note, want) {
		t.Errorf("%q, %v; want %s", note, err, want)
	}
}

func TestDrain(t *testing.T) {
	w := newWorld(t, 3, 2, "a", "b", "c")
	o := w.operator()
	if err := o.Drain(t.Context(), "x"); !errors.Is(err, operate.ErrUnknown) {
		t.Errorf("an unknown node: %v", err)
	}
	if err := o.Drain(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	if n := w.state(1).Node("c"); n.State != operate.Leaving {
		t.Errorf("c is %+v", n)
	}
	err := o.Drain(t.Context(), "b")
	if want := "node b cannot be drained: partitions have 2 replicas, and could be on 1 other node (a); c is to leave, too. Start another node first"; !errors.Is(err, operate.ErrRefused) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := o.Forget(t.Context(), "c"); !errors.Is(err, operate.ErrRefused) || !strings.Contains(err.Error(), "lives: stop it first") {
		t.Errorf("a node that lives is forgotten: %v", err)
	}

	// The nodes make the changes that are due.
	v := w.look()
	m, revision := v.Map, v.MapRevision
	for {
		c, ok := m.Step(placement.Situation{Members: v.Placement(), Current: func(int, string) bool { return true }, Moves: 4})
		if !ok {
			break
		}
		if m, err = m.Apply(c); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := coord.WriteMap(t.Context(), w.store, m, revision); err != nil {
		t.Fatal(err)
	}
	for i := range m.Partitions {
		w.stand("c", coord.Standing{Partition: i})
	}
	if n := w.state(1).Node("c"); n.State != operate.Left || n.Replicas != 0 {
		t.Errorf("c is %+v", n)
	}
	w.nodes["c"].mute = true
	s := w.state(8)
	if !slices.Contains(texts(s), "info: node c has left and is silent: rondo cluster drain --forget c forgets it") {
		t.Errorf("%q", texts(s))
	}
	if err := o.Forget(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	if n := w.state(1).Node("c"); n != nil {
		t.Errorf("c is still there: %+v", n)
	}
	if err := o.Undrain(t.Context(), "b"); err != nil || w.state(1).Node("b").State != operate.Live {
		t.Errorf("b was not to leave: %v", err)
	}
}

// replicas answer with what a test wants.
type replicas func() ([]coord.Digest, error)

func (r replicas) Compare(context.Context, int) ([]coord.Digest, error) { return r() }

func TestCompare(t *testing.T) {
	w := newWorld(t, 1, 3, "a", "b", "c")
	o := w.operator()
	answer := func(a, b coord.Digest) replicas {
		return func() ([]coord.Digest, error) {
			return []coord.Digest{{Node: "c", Leads: true, At: 70, Sum: 7}, b, a}, nil
		}
	}
	a, b, slow := coord.Digest{Node: "a", At: 70, Sum: 7}, coord.Digest{Node: "b", At: 70, Sum: 7}, errors.New("it is slow")
	tries := 0
	for _, x := range []struct {
		name    string
		r       replicas
		problem string
		differs bool
		at      wal.Pos
	}{
		{"the same", answer(a, b), "", false, 70},
		{"one differs", answer(coord.Digest{Node: "a", At: 70, Sum: 8}, b), "the replica of node a differs from the leader's", true, 70},
		{"two differ", answer(coord.Digest{Node: "a", Sum: 8}, coord.Digest{Node: "b", Sum: 8}), "the replicas of nodes a, b differ from the leader's", true, 70},
		{
			"one differs, one is slow", answer(coord.Digest{Node: "a", Sum: 8}, coord.Digest{Node: "b", Err: slow}),
			"the replica of node a differs from the leader's; the replica of node b was not compared", true, 70,
		},
		{"one is slow", answer(a, coord.Digest{Node: "b", Err: slow}), "the replica of node b was not compared", false, 70},
		{"no leader", func() ([]coord.Digest, error) { return nil, errors.New("nobody leads") }, "the leader has no digest: nobody leads", false, 0},
		{"another leader meanwhile", func() ([]coord.Digest, error) {
			if tries++; tries < 3 {
				return nil, errors.New("another node leads")
			}
			return answer(a, b)()
		}, "", false, 70},
	} {
		c, err := o.Compare(t.Context(), x.r, 0)
		if err != nil || c.Problem != x.problem || c.Differs != x.differs || c.Position != x.at {
			t.Errorf("%s: %+v, %v; want %q", x.name, c, err, x.problem)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		w.nodes[name].mute = true
	}
	w.state(8)
	if c, err := o.Compare(t.Context(), answer(a, b), 0); err != nil || c.Problem != "it has no leader" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := o.Compare(t.Context(), answer(a, b), 1); !errors.Is(err, operate.ErrUnknown) {
		t.Errorf("an unknown partition: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c, err := o.Compare(ended, replicas(func() ([]coord.Digest, error) { return nil, ended.Err() }), 0)
	if err != nil || !strings.HasPrefix(c.Problem, "it took too long") {
		t.Errorf("%+v, %v", c, err)
	}
}
