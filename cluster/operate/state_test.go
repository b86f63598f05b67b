package operate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/operate"
	"github.com/rondo-db/rondo/cluster/placement"
)

// want compares what a state says.
func want(t *testing.T, s *operate.State, whole bool, lines ...string) {
	t.Helper()
	if got := texts(s); !slices.Equal(got, lines) || s.Whole() != whole {
		t.Errorf("whole: %v\n%s\nwant %v\n%s", s.Whole(), strings.Join(got, "\n"), whole, strings.Join(lines, "\n"))
	}
}

func TestWholeCluster(t *testing.T) {
	w := newWorld(t, 4, 2, "a", "b", "c")
	s := w.state(1)
	want(t, s, true)
	leads, replicas := 0, 0
	for _, n := range s.Nodes {
		if n.State != operate.Live || n.Silent != 0 || n.Current != n.Replicas || n.Address != n.Name+":9181" {
			t.Errorf("node %+v", n)
		}
		leads, replicas = leads+n.Leads, replicas+n.Replicas
	}
	if leads != 4 || replicas != 8 || s.Replicas != 2 {
		t.Errorf("%d leaders and %d replicas", leads, replicas)
	}
	for i, p := range s.Partitions {
		if p.Leader != p.Replicas[0].Node || p.Replicas[0].State != operate.Leads || p.Replicas[1].State != operate.Current || p.Problem != "" {
			t.Errorf("partition %d: %+v", i, p)
		}
		if r := p.Replicas[1]; r.Position != 100 || r.Checkpoint != 50 || r.Lag != 0 {
			t.Errorf("partition %d: %+v", i, r)
		}
	}
}

// TestFullDisk: status reports it, and the node takes no replica.
func TestFullDisk(t *testing.T) {
	w := newWorld(t, 3, 2, "a", "b", "c")
	p := w.look().Map.Partitions[0]
	x, z := p.Nodes[0], absent(p)
	w.nodes[z].says.DiskFull = "3.0 MiB left"
	want(t, w.state(1), false, "warning: the disk of node "+z+" is full (3.0 MiB left): its replicas stop when their memory is used up, and none moves to it; make room on it")
	if _, err := w.operator().Move(t.Context(), 0, x, z); !errors.Is(err, operate.ErrRefused) || !strings.Contains(err.Error(), "the disk of node "+z+" is full (3.0 MiB left): it takes no replica") {
		t.Errorf("a replica moves to a full disk: %v", err)
	}
	if err := w.operator().Drain(t.Context(), x); !errors.Is(err, operate.ErrRefused) || !strings.Contains(err.Error(), "; the disk of "+z+" is full. Start another node first") {
		t.Errorf("a node is drained to a full disk: %v", err)
	}
	w.nodes[z].says.DiskFull = ""
	want(t, w.state(1), true)
}

// TestStateInWords: everything that may be wrong with replicas and leaders is reported, once for
// all partitions that have it.
func TestStateInWords(t *testing.T) {
	w := newWorld(t, 4, 2, "a", "b", "c")
	follower := func(i int) string { return w.state(1).Partitions[i].Replicas[1].Node }
	leader := func(i int) string { return w.state(1).Partitions[i].Leader }

	b := follower(0)
	w.stand(b, coord.Standing{Partition: 0, Position: 93})
	want(t, w.state(1), false, fmt.Sprintf("warning: node %s is behind in partition 0, by up to 7 records", b))
	w.stand(b, coord.Standing{Partition: 0, Position: 93, Trouble: "no answer"})
	want(t, w.state(1), false, fmt.Sprintf("warning: node %s is behind in partition 0, by up to 7 records: no answer", b))
	w.stand(b, coord.Standing{Partition: 0, Position: 93, Copying: true})
	want(t, w.state(1), false, "warning: partition 0 has 1 of 2 replicas")
	w.stand(b, coord.Standing{Partition: 0, Position: 93, Halted: true})
	want(t, w.state(1), false, fmt.Sprintf("warning: the replica of partition 0 on node %s cannot follow the log", b), "warning: partition 0 has 1 of 2 replicas")
	w.stand(b, coord.Standing{Partition: 0, Position: 93, Halted: true, Outdated: true})
	want(t, w.state(1), false, "warning: partition 0 has 1 of 2 replicas",
		fmt.Sprintf("warning: the rondo of node %s is too old for what newer nodes write: partition 0 is halted on it; install their version on the node and restart it", b))
	if r := w.state(1).Partitions[0].Replicas[1]; r.State != operate.Halted || r.Reason != "it needs a newer version of rondo" {
		t.Errorf("a replica of an older program: %+v", r)
	}
	w.stand(b, coord.Standing{Partition: 0, Position: 93, Quarantine: "it differs from the replica of x"})
	want(t, w.state(1), false, fmt.Sprintf("error: the replica of partition 0 on node %s serves nothing, and is made anew: it differs from the replica of x", b), "warning: partition 0 has 1 of 2 replicas")
	w.stand(b, coord.Standing{Partition: 0, Position: 100, Current: true, Damaged: true})
	want(t, w.state(1), false, fmt.Sprintf("warning: the replica of partition 0 on node %s is damaged: it is made anew once another one is current and has no damage", b))
	w.stand(b, coord.Standing{Partition: 0, Position: 100, Current: true})
	want(t, w.state(1), true)

	a := leader(0)
	w.stand(a, coord.Standing{Partition: 0, Position: 100, Current: true})
	want(t, w.state(1), false, fmt.Sprintf("error: node %s is about to lead partition 0: updates wait", a))
	lost := "error: the servers of NATS have lost records of partition 0: updates wait until rondo cluster mend --log 0 %[1]s lets the replica on node %[1]s, which holds most, begin the log anew; start all of its nodes before"
	w.stand(b, coord.Standing{Partition: 0, Position: 101, Current: true, Lost: true})
	want(t, w.state(1), false, fmt.Sprintf(lost, b))
	w.stand(a, coord.Standing{Partition: 0, Position: 100, Current: true, Lost: true})
	w.stand(b, coord.Standing{Partition: 0, Position: 107, Halted: true})
	want(t, w.state(1), false, fmt.Sprintf(lost, a), fmt.Sprintf("warning: the replica of partition 0 on node %s cannot follow the log", b), "warning: partition 0 has 1 of 2 replicas")
	w.stand(a, coord.Standing{Partition: 0, Position: 100, Current: true})
	w.stand(b, coord.Standing{Partition: 0, Position: 100, Current: true})
	v := w.look()
	for _, p := range []int{0, 1, 2} {
		if _, err := coord.WriteLease(t.Context(), w.store, p, v.Leases[p], v.Leases[p].For("", "")); err != nil {
			t.Fatal(err)
		}
	}
	s := w.state(1)
	want(t, s, false, "error: partitions 0-2 have no leader: updates wait")
	if s.Partitions[0].Problem != "no leader" {
		t.Errorf("partition 0: %q", s.Partitions[0].Problem)
	}
}

func TestNodesInWords(t *testing.T) {
	w := newWorld(t, 2, 2, "a", "b", "c")
	w.nodes["c"].says.Version = "v2"
	want(t, w.state(1), true, "info: nodes run different versions: v1 (a, b), v2 (c)")
	w.nodes["c"].says.Version = "v1"
	w.nodes["c"].says.Stopping = true
	stopping := w.state(1)
	if n := stopping.Node("c"); n.Replicas != 1 {
		t.Fatalf("c has %d replicas: choose other names", n.Replicas)
	}
	want(t, stopping, false, "warning: node c is stopping: 1 replica is about to be away")
	w.nodes["c"].says.Stopping = false
	w.nodes["a"].mute, w.nodes["b"].mute = true, true
	unheard := w.state(10)
	unheard.Unheard("a", errors.New("no room"))
	want(t, unheard, false, "error: node a cannot announce itself, so it does not know whether nodes live that are silent: no room")
	w.nodes["a"].mute, w.nodes["b"].mute = false, false
	if err := coord.SetLeaving(t.Context(), w.store, "c", true); err != nil {
		t.Fatal(err)
	}
	n := w.state(1).Node("c")
	if n.Replicas == 0 {
		t.Fatal("c has no replica: choose other names")
	}
	want(t, w.state(1), true, fmt.Sprintf("info: node c is to leave: %d %s still on it", n.Replicas, map[bool]string{true: "replica is", false: "replicas are"}[n.Replicas == 1]))
	if err := coord.SetLeaving(t.Context(), w.store, "c", false); err != nil {
		t.Fatal(err)
	}

	w.nodes["b"].mute, w.nodes["c"].mute = true, true
	s := w.state(8)
	if s.Whole() || s.Node("b").State != operate.Silent || s.Node("b").Silent < 7*time.Second || s.Node("a").State != operate.Live {
		t.Errorf("nodes %+v", s.Nodes)
	}
	all := strings.Join(texts(s), "\n")
	for _, line := range []string{"warning: node b has been silent for 8s", "warning: 1 node may keep replicas, and partitions are to have 2: start more nodes"} {
		if !strings.Contains(all, line) {
			t.Errorf("%s\nlacks: %s", all, line)
		}
	}
	for i, p := range s.Partitions {
		lost := !slices.ContainsFunc(p.Replicas, func(r operate.Replica) bool { return r.Node == "a" })
		if text := fmt.Sprintf("partition %d cannot be read nor updated", i); lost != strings.Contains(all, text) && lost != strings.Contains(all, "partitions 0, 1 cannot") {
			t.Errorf("partition %d on %+v:\n%s", i, p.Replicas, all)
		}
	}
	w.nodes["b"].mute = false
	s = w.state(700)
	if n := s.Node("c"); n.State != operate.Gone || s.Whole() || !strings.Contains(strings.Join(texts(s), "\n"), "made anew on other nodes") {
		t.Errorf("%+v\n%s", n, strings.Join(texts(s), "\n"))
	}
}

// TestMovesInWords: a move is no problem, but a replica that is missing is.
func TestMovesInWords(t *testing.T) {
	w := newWorld(t, 1, 2, "a", "b", "c")
	v := w.look()
	p := v.Map.Partitions[0]
	to := "c"
	for _, n := range []string{"a", "b"} {
		if !slices.Contains(p.Nodes, n) {
			to = n
		}
	}
	m, err := v.Map.Apply(placement.Change{Kind: placement.Begin, Partition: 0, From: p.Nodes[1], To: to})
	if err == nil {
		_, err = coord.WriteMap(t.Context(), w.store, m, v.MapRevision)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := w.state(1)
	want(t, s, true, fmt.Sprintf("info: partition 0 moves from node %s to node %s", p.Nodes[1], to))
	if r := s.Partitions[0].Replicas[2]; r.Node != to || r.State != operate.Copying {
		t.Errorf("the new replica: %+v", r)
	}
	if n := s.Node(to); n.Replicas != 0 {
		t.Errorf("it counts before it is one: %+v", n)
	}
}

func TestNoClusterYet(t *testing.T) {
	s := operate.StateOf(&coord.View{})
	want(t, s, false, "error: there is no cluster yet: nobody has made the map of partitions")
}

// TestObserver: who comes to a cluster sees who is silent as soon as that can be known, and returns
// as soon as all have been heard.
func TestObserver(t *testing.T) {
	for _, mute := range []string{"", "b"} {
		w := newWorld(t, 2, 2, "a", "b", "c")
		if mute != "" {
			w.nodes[mute].mute = true
		}
		o := operate.NewObserver(w.store, coord.Times{}, func() time.Time { return w.now })
		began, next := w.now, w.now.Add(700*time.Millisecond)
		operate.SetSleep(o, func(_ context.Context, d time.Duration) error {
			if w.now = w.now.Add(d); !w.now.Before(next) {
				next = next.Add(time.Second)
				w.announce()
			}
			return nil
		})
		v, err := o.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		took := w.now.Sub(began)
		for name, m := range v.Members {
			if m.Live == (name == mute) {
				t.Errorf("%s lives: %v", name, m.Live)
			}
		}
		if least := map[string]time.Duration{"": 700 * time.Millisecond, "b": 6 * time.Second}[mute]; took < least || took > least+time.Second {
			t.Errorf("mute %q: it took %v", mute, took)
		}
		if _, err := o.Look(t.Context()); err != nil || w.now.Sub(began) != took {
			t.Errorf("the second look took %v more, %v", w.now.Sub(began)-took, err)
		}
	}
}
