// Package operate is what operators of a cluster do: look at it, move replicas, choose leaders,
// drain nodes, compare replicas.
//
// StateOf says what a view of the cluster (package coord) means: which partitions have a leader,
// which replicas are missing or behind, what is wrong, in words. Observe makes such a view for
// a process that is no node. An Operator changes the map of partitions by compare-and-set, as
// nodes do; the nodes then move replicas and hand leases on. So an operator may end, or be
// cut off, at any time.
package operate
