package figures

import (
	"context"
	"strconv"

	"github.com/rondo-db/rondo/cluster/detour"
	"github.com/rondo-db/rondo/cluster/operate"
	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
	"github.com/rondo-db/rondo/cmd/rondo/internal/metrics"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/rra"
)

// clusterFigures returns the figures of a node of a cluster, or none.
func (s *Sources) clusterFigures() []figure {
	if s.Member == nil {
		return nil
	}
	return append(figuresOfState(s.Member.State()), figuresOfSpool(s.Member.Detour().Figures())...)
}

// partitionFamilies are the metrics of a replica on this node.
var partitionFamilies = []struct {
	name, help string
	value      func(*rondov1.ClusterReplica) uint64
}{
	{"rondo_cluster_partition_leads", "Whether this node leads the partition.", func(r *rondov1.ClusterReplica) uint64 {
		if r.GetState() == string(operate.Leads) {
			return 1
		}
		return 0
	}},
	{"rondo_cluster_partition_position", "Record of the log up to which the replica on this node has everything.", (*rondov1.ClusterReplica).GetPosition},
	{"rondo_cluster_partition_checkpoint", "Record of the log up to which the replica on this node does not need it.", (*rondov1.ClusterReplica).GetCheckpoint},
	{"rondo_cluster_partition_lag", "Records that the replica on this node is behind the one that is furthest.", (*rondov1.ClusterReplica).GetLag},
}

// writeCluster writes what a node knows of each replica that the map gives it.
func (s *Sources) writeCluster(w *metrics.Writer) {
	if s.Member == nil {
		return
	}
	st := s.Member.Operators().Status(context.Background())
	whole := 0.0
	if st.GetWhole() {
		whole = 1
	}
	w.Gauge("rondo_cluster_whole", "Whether each partition has a leader and all its replicas, which are current, and all nodes and servers of NATS are there.", whole)
	for _, f := range partitionFamilies {
		w.Family(f.name, "gauge", f.help)
		for _, p := range st.GetPartitions() {
			for _, r := range p.GetReplicas() {
				if r.GetNode() == st.GetNode() {
					w.Sample(float64(f.value(r)), "partition", strconv.Itoa(int(p.GetNumber())))
				}
			}
		}
	}
}

func figuresOfState(st clustered.State) []figure {
	return []figure{
		{"cluster_nodes", "rondo_cluster_nodes", rra.Gauge, "Nodes of the cluster that live, as this one sees it.", float64(st.Nodes)},
		{"cluster_leaderless", "rondo_cluster_partitions_without_leader", rra.Gauge, "Partitions that no living node has the lease of.", float64(st.Leaderless)},
		{"", "rondo_cluster_partitions", rra.Gauge, "Partitions of the cluster.", float64(st.Partitions)},
		{"", "rondo_cluster_log_servers", rra.Gauge, "Servers of NATS that keep the logs and the map of partitions.", float64(st.LogServers)},
		{"", "rondo_cluster_log_servers_missing", rra.Gauge, "Of them, those that do not answer, or whose JetStream is disabled.", float64(st.LogServersMissing)},
		{"", "rondo_cluster_log_servers_behind", rra.Gauge, "Of them, those that answer and are far behind with a log.", float64(st.LogServersBehind)},
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

func figuresOfSpool(st detour.Stats) []figure {
	return []figure{
		{"cluster_spool_bytes", "rondo_cluster_spool_bytes", rra.Gauge, "Bytes of samples on this node that wait for the leaders of their partitions.", float64(st.Bytes)},
		{"", "rondo_cluster_spool_capacity_bytes", rra.Gauge, "Bytes that may wait (--spool); 0: none.", float64(st.Capacity)},
		{"", "rondo_cluster_spool_partitions", rra.Gauge, "Partitions for which samples wait on this node.", float64(st.Partitions)},
		{"cluster_spool_oldest", "rondo_cluster_spool_oldest_seconds", rra.Gauge, "For how long the oldest of them has waited.", st.Oldest.Seconds()},
	}
}

// writeSpool writes what became of samples that came while their partitions had no leaders.
func (s *Sources) writeSpool(w *metrics.Writer) {
	if s.Member == nil {
		return
	}
	st := s.Member.Detour().Figures()
	writeCounts(w, "rondo_cluster_spool_samples_total", "Samples that had to wait for leaders, by what became of them: kept, then stored or late, which is stored before.",
		"outcome", []uint64{st.Spooled, st.Delivered, st.Late}, list{"kept", "stored", "late"}.at)
	writeCounts(w, "rondo_cluster_spool_dropped_total", "Samples lost while their partitions had no leaders, by reason.",
		"reason", st.Dropped[:], func(i int) string { return detour.Reason(i).String() })
	w.Counter("rondo_cluster_spool_set_aside_total", "Damaged parts of the spool that were set aside.", float64(st.SetAside))
}
