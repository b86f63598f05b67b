package node

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
)

// An Admitter can find out that another node will never take calls from this one, because they know
// each other in different ways. Peers may be one.
type Admitter interface {
	// Admitted asks a node whether it takes calls from here, and returns nil if so. never says that
	// it never will, for the reason err; otherwise an error says that it has not answered. Admitted
	// may be called concurrently.
	Admitted(ctx context.Context, node coord.Member) (never bool, err error)
}

const (
	// admitTime bounds a question to one node. A node that closes waits for the answer.
	admitTime = 2 * time.Second
	// admitAgain is the time until a node that has not answered, or refuses, is asked again.
	admitAgain = 30 * time.Second
	// mostWhy is how many bytes a node says of why another one refuses it.
	mostWhy = 300
)

// An admission is what a node has found out about a session of another one.
type admission struct {
	session  string
	asking   bool
	admitted bool
	why      string    // it never will be; or empty
	again    time.Time // no question before
}

// admit asks each node that has just announced itself whether it takes calls from here, once for
// each of its sessions. Two nodes that do not take each other's calls may both be in the cluster:
// each has made sure, before it joined, that the nodes which were there take its calls. n.mu is
// held.
func (n *Node) admit(ctx context.Context, v *coord.View) {
	p, ok := n.o.Peers.(Admitter)
	if !ok {
		return
	}
	for name, m := range v.Members {
		if name == n.o.Name || m.Silent > 0 {
			continue
		}
		a := n.admissions[name]
		if a == nil || a.session != m.Session {
			a = &admission{session: m.Session}
			n.admissions[name] = a
		}
		if a.asking || a.admitted || n.o.now().Before(a.again) {
			continue
		}
		a.asking = true
		n.o.start(func() { n.askAdmitted(ctx, p, a, m.Member) })
	}
	for name := range n.admissions {
		if v.Members[name] == nil {
			delete(n.admissions, name)
		}
	}
}

func (n *Node) askAdmitted(ctx context.Context, p Admitter, a *admission, m coord.Member) {
	call, cancel := context.WithTimeout(ctx, admitTime)
	defer cancel()
	never, err := p.Admitted(call, m)
	n.mu.Lock()
	defer n.mu.Unlock()
	a.asking, a.admitted, a.again = false, err == nil, n.o.now().Add(admitAgain)
	was := a.why
	switch {
	case never:
		a.why = oneLine(err.Error(), mostWhy)
	case err == nil:
		a.why = ""
	}
	if a.why != "" && was == "" {
		n.o.Logger.Error("a node of the cluster and this one cannot talk to each other", "node", m.Name, "address", m.Address, "err", err)
	}
}

// refused returns the nodes that never take calls from this one. n.mu is held.
func (n *Node) refused() []coord.Refusal {
	var all []coord.Refusal
	for name, a := range n.admissions {
		if a.why != "" {
			all = append(all, coord.Refusal{Node: name, Why: a.why})
		}
	}
	slices.SortFunc(all, func(a, b coord.Refusal) int { return cmp.Compare(a.Node, b.Node) })
	return all
}

// oneLine returns at most so many bytes of a text, as one line.
func oneLine(text string, most int) string {
	text = strings.ReplaceAll(text, "\n", "; ")
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}
