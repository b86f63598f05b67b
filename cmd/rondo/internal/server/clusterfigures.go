package server

import (
	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
	"github.com/rondo-db/rondo/rra"
)

// clusterFigures returns the figures of a node of a cluster, or none.
func (s *server) clusterFigures() []figure {
	if s.member == nil {
		return nil
	}
	return figuresOfState(s.member.State())
}

func figuresOfState(st clustered.State) []figure {
	return []figure{
		{"cluster_nodes", "rondo_cluster_nodes", rra.Gauge, "Nodes of the cluster that live, as this one sees it.", float64(st.Nodes)},
		{"cluster_leaderless", "rondo_cluster_partitions_without_leader", rra.Gauge, "Partitions that no living node has the lease of.", float64(st.Leaderless)},
		{"", "rondo_cluster_partitions", rra.Gauge, "Partitions of the cluster.", float64(st.Partitions)},
		{"cluster_replicas", "rondo_cluster_replicas", rra.Gauge, "Replicas that are open on this node.", float64(st.Replicas)},
		{"cluster_leads", "rondo_cluster_leads", rra.Gauge, "Partitions that this node leads.", float64(st.Leads)},
		{"cluster_halted", "rondo_cluster_replicas_halted", rra.Gauge, "Replicas on this node that cannot follow their log.", float64(st.Halted)},
		{"cluster_behind", "rondo_cluster_records_behind", rra.Gauge, "Records of the logs that this node knows of and has not applied.", float64(st.Behind)},
		{"", "rondo_cluster_promotions_total", rra.Derive, "Replicas on this node that began to lead.", float64(st.Promotions)},
		{"", "rondo_cluster_handovers_total", rra.Derive, "Leases that this node has handed on.", float64(st.Handovers)},
		{"", "rondo_cluster_copies_total", rra.Derive, "Replicas on this node that were made of a copy.", float64(st.Copies)},
		{"", "rondo_cluster_quarantines_total", rra.Derive, "Replicas on this node that differed from the others.", float64(st.Quarantines)},
		{"", "rondo_cluster_failures_total", rra.Derive, "Tasks of this node that failed and were tried again.", float64(st.Failures)},
	}
}
