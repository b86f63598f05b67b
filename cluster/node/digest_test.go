package node

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/engine/core"
)

// TestCompare: who differs is in quarantine. Digest 1 belongs to this node, a, and the others say
// what theirs is.
func TestCompare(t *testing.T) {
	type voter struct {
		digest  uint64 // 0: it has none at this position
		spare   bool
		leads   bool
		damaged bool
	}
	for _, x := range []struct {
		name   string
		leads  bool // a does
		others map[string]voter
		want   string // whose copy a takes; empty: a is not in quarantine
	}{
		{"all agree", false, map[string]voter{"b": {digest: 1, leads: true}, "c": {digest: 1}}, ""},
		{"one has no digest yet", false, map[string]voter{"b": {digest: 1, leads: true}, "c": {}}, ""},
		{"two of three differ", true, map[string]voter{"b": {digest: 2}, "c": {digest: 2}}, "b"},
		{"one of three differs", false, map[string]voter{"b": {digest: 2, leads: true}, "c": {digest: 1}}, ""},
		{"all of three differ", false, map[string]voter{"b": {digest: 2}, "c": {digest: 3, leads: true}}, "c"},
		{"one of two differs and leads", false, map[string]voter{"b": {digest: 2, leads: true}}, "b"},
		{"one of two differs and does not lead", true, map[string]voter{"b": {digest: 2}}, ""},
		{"one of two differs, and one has no digest yet", false, map[string]voter{"b": {digest: 2, leads: true}, "c": {}}, ""},
		{"one of two differs and leads, and is damaged", false, map[string]voter{"b": {digest: 2, leads: true, damaged: true}}, ""},
		{"two of three differ, and are damaged", false, map[string]voter{"b": {digest: 2, damaged: true}, "c": {digest: 2, leads: true, damaged: true}}, ""},
		{"one of three is damaged, and the others differ", true, map[string]voter{"b": {digest: 2}, "c": {digest: 1, damaged: true}}, ""},
		{"a spare does not count", true, map[string]voter{"b": {digest: 2}, "d": {digest: 2, spare: true}}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			n := &Node{o: Options{Name: "a", now: time.Now}.withDefaults()}
			l := &local{state: open, replica: new(pawn), digest: core.Digested{At: 7, Sum: 1}, standing: Standing{Leads: x.leads}}
			v := &coord.View{Members: map[string]*coord.Seen{"a": {Member: coord.Member{Name: "a"}, Live: true}}}
			for name, o := range x.others {
				st := coord.Standing{Spare: o.spare, Leads: o.leads, DigestAt: 7, Digest: o.digest, Damaged: o.damaged}
				if o.digest == 0 {
					st.DigestAt = 3
				}
				v.Members[name] = &coord.Seen{Member: coord.Member{Name: name, Partitions: []coord.Standing{st}}, Live: true}
			}
			part := placement.Partition{Nodes: []string{"a", "b", "c"}}
			if _, ok := x.others["c"]; !ok {
				part.Nodes = part.Nodes[:2]
			}
			n.compare(l, v, part)
			if l.better != x.want || (l.why == "") != (x.want == "") {
				t.Errorf("differs from %q, %q; want %q", l.better, l.why, x.want)
			}
		})
	}
}

// TestDamagedReplica: a replica that knows of damage in its database is made anew of one that does
// not, whether it leads or not. Two that find damage at the same time do not both serve nothing.
func TestDamagedReplica(t *testing.T) {
	sound, damaged := coord.Standing{Current: true}, coord.Standing{Current: true, Damaged: true}
	for _, x := range []struct {
		name    string
		own     coord.Standing // as others can read it
		session string
		b, c    coord.Standing
		want    string // whose copy a takes; empty: a is not in quarantine
	}{
		{name: "another one is sound", own: damaged, b: damaged, c: sound, want: "c"},
		{name: "the others cannot read it yet", own: sound, b: sound, c: sound},
		{name: "they read what an earlier session said", own: damaged, session: "earlier", b: sound, c: sound},
		{name: "all are damaged", own: damaged, b: damaged, c: damaged},
		{name: "the others are behind", own: damaged, b: coord.Standing{}, c: coord.Standing{}},
		{name: "another one is in quarantine", own: damaged, b: coord.Standing{Current: true, Quarantine: "why"}, c: damaged},
	} {
		t.Run(x.name, func(t *testing.T) {
			n := &Node{o: Options{Name: "a", now: time.Now}.withDefaults()}
			l := &local{state: open, replica: new(pawn), standing: Standing{Leads: true, Damaged: true}}
			v := &coord.View{Members: make(map[string]*coord.Seen)}
			for name, st := range map[string]coord.Standing{"a": x.own, "b": x.b, "c": x.c} {
				v.Members[name] = &coord.Seen{Member: coord.Member{Name: name, Session: x.session, Partitions: []coord.Standing{st}}, Live: true}
			}
			n.compare(l, v, placement.Partition{Nodes: []string{"a", "b", "c"}})
			if l.better != x.want || (l.why == "") != (x.want == "") {
				t.Errorf("a copy of %q, for %q; want one of %q", l.better, l.why, x.want)
			}
		})
	}
}

// A namedPeer is a peer whose engines say where they are.
type namedPeer struct{ modelPeer }

func (namedPeer) Partition(m coord.Member, _ int) (Partition, error) {
	return nil, errors.New(m.Name)
}

// TestDamagedReplicaIsReadLast: a replica that knew of damage was read until it was in quarantine,
// and lists lacked what it could not read.
func TestDamagedReplicaIsReadLast(t *testing.T) {
	for _, x := range []struct {
		own, other bool
		want       string
	}{{false, true, ""}, {true, false, "b"}, {true, true, ""}} {
		n := &Node{o: Options{Name: "a", Peers: namedPeer{}}.withDefaults(), looked: make(chan struct{})}
		n.locals = map[int]*local{0: {state: open, current: true, replica: &rotten{damaged: x.own}}}
		m := &coord.Seen{Member: coord.Member{Name: "b", Partitions: []coord.Standing{{Current: true, Damaged: x.other}}}, Live: true}
		n.view = &coord.View{Map: placement.Map{Partitions: []placement.Partition{{Nodes: []string{"a", "b"}}}}, Members: map[string]*coord.Seen{"b": m}}
		e, err := n.Reader(t.Context(), 0)
		if x.want == "" != (e != nil) || x.want != "" && !strings.HasSuffix(err.Error(), x.want) {
			t.Errorf("%+v: %v, %v", x, e, err)
		}
	}
}

// A rotten is a replica that knows whether it is damaged.
type rotten struct {
	pawn
	damaged bool
}

func (r *rotten) Standing() Standing  { return Standing{Damaged: r.damaged} }
func (r *rotten) Engine() core.Engine { return struct{ core.Engine }{} }
