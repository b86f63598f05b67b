package node

import (
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
		digest uint64 // 0: it has none at this position
		copyOf string
		spare  bool
		leads  bool
	}
	for _, x := range []struct {
		name   string
		copyOf string // of a
		leads  bool   // a does
		others map[string]voter
		want   string // whom a differs from; empty: a is not in quarantine
		stays  bool   // a counts as a copy afterwards, as it did before
	}{
		{"all agree", "b", false, map[string]voter{"b": {digest: 1, leads: true}, "c": {digest: 1}}, "", false},
		{"one has no digest yet", "b", false, map[string]voter{"b": {digest: 1, leads: true}, "c": {}}, "", true},
		{"two of three differ", "", true, map[string]voter{"b": {digest: 2}, "c": {digest: 2}}, "b", false},
		{"two of three differ, one of which is a copy of a", "", true, map[string]voter{"b": {digest: 2, copyOf: "a"}, "c": {digest: 2, copyOf: "b"}}, "b", false},
		{"one of three differs", "", false, map[string]voter{"b": {digest: 2, leads: true}, "c": {digest: 1}}, "", false},
		{"one of two differs and leads", "", false, map[string]voter{"b": {digest: 2, leads: true}}, "b", false},
		{"one of two differs and does not lead", "", true, map[string]voter{"b": {digest: 2}}, "", false},
		{"one of two differs, and a spare agrees with it", "", true, map[string]voter{"b": {digest: 2}, "d": {digest: 2, spare: true}}, "b", false},
		{"two and two, and a is a copy of c", "c", true, map[string]voter{"b": {digest: 2}, "c": {digest: 1}, "d": {digest: 2, spare: true}}, "b", true},
		{"two and two, and b is a copy", "", false, map[string]voter{"b": {digest: 2, copyOf: "d", leads: true}, "c": {digest: 1}, "d": {digest: 2, spare: true}}, "", false},
		{"two and two, and all are independent", "", false, map[string]voter{"b": {digest: 2, leads: true}, "c": {digest: 1}, "d": {digest: 2, spare: true}}, "b", false},
		{"a spare without a digest does not count", "", false, map[string]voter{"b": {digest: 2, leads: true}, "d": {spare: true}}, "b", false},
		{"a stranger does not count", "", true, map[string]voter{"b": {digest: 1}, "d": {digest: 2}, "e": {digest: 2}}, "", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			n := &Node{o: Options{Name: "a", now: time.Now}.withDefaults()}
			l := &local{replica: new(pawn), copyOf: x.copyOf, digest: core.Digested{At: 7, Sum: 1}, standing: Standing{Leads: x.leads}}
			v := &coord.View{Members: map[string]*coord.Seen{"a": {Member: coord.Member{Name: "a"}, Live: true}}}
			for name, o := range x.others {
				st := coord.Standing{CopyOf: o.copyOf, Spare: o.spare, Leads: o.leads, DigestAt: 7, Digest: o.digest}
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
			if l.better != x.want || (l.hurt == "") != (x.want == "") {
				t.Errorf("differs from %q, %q; want %q", l.better, l.hurt, x.want)
			}
			if (l.copyOf != "") != x.stays {
				t.Errorf("a is a copy of %q", l.copyOf)
			}
		})
	}
}
