package operate_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/cluster/operate"
	"github.com/rondo-db/rondo/cluster/placement"
)

// A world is a cluster whose nodes only announce themselves: what they say is what a test wants.
type world struct {
	t       *testing.T
	now     time.Time
	servers *coordtest.Servers
	store   coord.Store
	watcher *coord.Watcher
	nodes   map[string]*speaker
}

// A speaker announces a node.
type speaker struct {
	coord.Announcer
	says coord.Member
	mute bool
}

// newWorld returns a cluster with nodes that all have current replicas, and leaders as the map has
// them.
func newWorld(t *testing.T, partitions, replicas int, nodes ...string) *world {
	t.Helper()
	w := &world{t: t, now: time.Unix(1_000_000_000, 0), nodes: make(map[string]*speaker)}
	w.servers = coordtest.New(func() time.Time { return w.now }, 0)
	w.store = w.servers.Truth()
	w.watcher = coord.NewWatcher(w.store, coord.Times{}, func() time.Time { return w.now })
	var members []placement.Member
	for _, name := range nodes {
		w.nodes[name] = &speaker{Announcer: coord.Announcer{Store: w.store}, says: coord.Member{Name: name, Session: name + "1", Address: name + ":9181", Version: "v1"}}
		members = append(members, placement.Member{Name: name})
	}
	m, err := placement.New(partitions, replicas, members)
	if err == nil {
		m.Cluster = "test"
		_, err = coord.WriteMap(t.Context(), w.store, m, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range m.Partitions {
		for k, name := range p.Nodes {
			w.stand(name, coord.Standing{Partition: i, Position: 100, Checkpoint: 50, Current: true, Leads: k == 0})
		}
		if _, err := coord.WriteLease(t.Context(), w.store, i, coord.Lease{}, coord.Lease{}.For(p.Nodes[0], p.Nodes[0]+"1")); err != nil {
			t.Fatal(err)
		}
	}
	w.look()
	return w
}

// stand lets a node say something else of a replica.
func (w *world) stand(node string, st coord.Standing) {
	says := &w.nodes[node].says
	says.Partitions = slices.DeleteFunc(slices.Clone(says.Partitions), func(x coord.Standing) bool { return x.Partition == st.Partition })
	says.Partitions = append(says.Partitions, st)
	slices.SortFunc(says.Partitions, func(a, b coord.Standing) int { return a.Partition - b.Partition })
}

// announce lets all nodes that are not mute announce themselves.
func (w *world) announce() {
	w.t.Helper()
	for _, n := range w.nodes {
		if n.mute {
			continue
		}
		if err := n.Announce(w.t.Context(), n.says, func(coord.Member) bool { return true }); err != nil {
			w.t.Fatal(err)
		}
	}
}

// look lets a second pass, and returns what is to be seen.
func (w *world) look() *coord.View {
	w.t.Helper()
	w.now = w.now.Add(time.Second)
	w.announce()
	v, err := w.watcher.Look(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// state lets some seconds pass and returns the state.
func (w *world) state(seconds int) *operate.State {
	w.t.Helper()
	v := w.look()
	for range seconds - 1 {
		v = w.look()
	}
	return operate.StateOf(v)
}

func (w *world) operator() *operate.Operator {
	return &operate.Operator{
		Store: w.store, Look: func(context.Context) (*coord.View, error) { return w.look(), nil }, Pause: time.Millisecond,
	}
}

// texts returns what is wrong, and what goes on.
func texts(s *operate.State) (all []string) {
	for _, p := range s.Problems {
		all = append(all, p.Severity.String()+": "+p.Text)
	}
	return all
}
