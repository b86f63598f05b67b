package clustered

import (
	"context"

	"github.com/rondo-db/rondo/cluster/node"
)

// A State is what a node knows of its cluster and of itself.
type State struct {
	Nodes      int // that live
	Partitions int
	Leaderless int // partitions that no living node has the lease of

	Replicas int    // open here
	Leads    int    // of them, those that lead
	Halted   int    // of them, those that cannot follow
	Behind   uint64 // records that this node knows of and has not applied

	// Servers of NATS that keep the logs and the map, as far as they are known. Of them, those that
	// are missing, and those that are there and far behind.
	LogServers, LogServersMissing, LogServersBehind int

	node.Counts
}

// State returns the state of now.
func (m *Member) State() State {
	st := State{Counts: m.node.Counts()}
	if l := m.surveyor.known(context.Background()); l != nil {
		st.LogServers, st.LogServersMissing, st.LogServersBehind = len(l.Servers), l.Missing(), l.Behind()
	}
	v := m.node.View()
	if v == nil {
		return st
	}
	for _, x := range v.Members {
		if x.Live {
			st.Nodes++
		}
	}
	st.Partitions = len(v.Map.Partitions)
	for p := range v.Map.Partitions {
		if v.Leader(p) == nil {
			st.Leaderless++
		}
		r, ok := m.node.Local(p)
		if !ok {
			continue
		}
		st.Replicas++
		is := r.Standing()
		if is.Leads {
			st.Leads++
		}
		if is.Halted {
			st.Halted++
		}
		st.Behind += uint64(is.Newest - min(is.Position, is.Newest))
	}
	return st
}
