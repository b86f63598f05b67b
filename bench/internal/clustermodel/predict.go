package clustermodel

import "github.com/rondo-db/rondo/bench/internal/clusterbench"

// CPU returns how many seconds of processor time nodes and servers take for a load of a run, from
// the messages and bytes that it had.
func (t Times) CPU(r *clusterbench.Result, l *clusterbench.Load) (nodes, servers float64) {
	s := &t.set
	n, messages := float64(l.Samples), float64(l.Messages)
	parts := float64(l.Batches) * float64(partsOf(r.Partitions, r.Batch))
	replicas := float64(r.Replicas)
	nodes = parts*(s.takePart+replicas*s.applyRecord) + n*(s.takeSample+replicas*s.applySample) +
		messages*(s.logMessage+(replicas-1)*s.followRound) + s.nodeIdle*float64(r.Nodes)*l.Seconds
	servers = messages*(s.serverMessage+2*(replicas-1)*s.serverRead) + s.serverByte*float64(l.LogBytes) + s.serverIdle*copies*l.Seconds
	return nodes, servers
}
