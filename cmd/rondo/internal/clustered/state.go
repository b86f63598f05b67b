package clustered

import "github.com/rondo-db/rondo/engine/cluster/node"

// A State is what a node knows of its cluster and of itself.
type State struct {
	Nodes      int // that live
	Partitions int
	Leaderless int // partitions that no living node has the lease of

	Replicas int    // open here
	Leads    int    // of them, those that lead
	Halted   int    // of them, those that cannot follow
	Behind   uint64 // records that this node knows of and has not applied

	node.Counts
}

// State returns the state of now.
func (m *Member) State() State {
	st := State{Counts: m.node.Counts()}
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
