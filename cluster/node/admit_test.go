package node

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
)

// An admitter answers as the test says, by the name of the node.
type admitter struct {
	modelPeer
	never, err map[string]error
	asked      []string
}

func (p *admitter) Admitted(_ context.Context, m coord.Member) (bool, error) {
	p.asked = append(p.asked, m.Name+m.Session)
	if err := p.never[m.Name]; err != nil {
		return true, err
	}
	return false, p.err[m.Name]
}

// TestNodesThatRefuse: two nodes with different tokens that began at the same moment were in the
// cluster, and nothing but their logs said that they never talk to each other.
func TestNodesThatRefuse(t *testing.T) {
	var started []func()
	p := &admitter{never: map[string]error{"b": errors.New("knows another\ntoken")}, err: map[string]error{"c": errors.New("too late")}}
	now := time.Unix(1_000_000_000, 0)
	n := &Node{
		o:          Options{Name: "a", Peers: p, now: func() time.Time { return now }, start: func(f func()) { started = append(started, f) }}.withDefaults(),
		admissions: make(map[string]*admission),
	}
	members := map[string]*coord.Seen{}
	for _, name := range []string{"a", "b", "c", "d"} {
		members[name] = &coord.Seen{Member: coord.Member{Name: name, Session: "1"}, Live: true}
	}
	// look lets a second pass, and returns how many nodes are asked.
	look := func() int {
		now = now.Add(time.Second)
		p.asked = nil
		n.mu.Lock()
		n.admit(t.Context(), &coord.View{Members: members})
		n.mu.Unlock()
		for _, f := range started {
			f()
		}
		started = nil
		return len(p.asked)
	}
	if got := look(); got != 3 {
		t.Errorf("%d nodes are asked at the first look: %q", got, p.asked)
	}
	refused := n.member().Refused
	if len(refused) != 1 || refused[0] != (coord.Refusal{Node: "b", Why: "knows another; token"}) {
		t.Errorf("a is refused by %+v", refused)
	}
	if got := look(); got != 0 {
		t.Errorf("%q are asked again at once", p.asked)
	}
	now = now.Add(admitAgain)
	members["c"].Silent = time.Second
	if got := look(); got != 1 || p.asked[0] != "b1" {
		t.Errorf("%q are asked again, after a while", p.asked)
	}
	members["b"].Session, members["d"].Session = "2", "2" // they have begun anew, b with the right token
	p.never = nil
	if got := look(); got != 2 || len(n.member().Refused) != 0 {
		t.Errorf("%q are asked; refused: %+v", p.asked, n.member().Refused)
	}
	delete(members, "b")
	if look(); n.admissions["b"] != nil {
		t.Error("a node that is gone is remembered")
	}
}
