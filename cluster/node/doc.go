// Package node runs the partitions that one node of a cluster keeps.
//
// A [Node] looks at the cluster every second (package coord) and does what is due for each
// partition. It opens replicas that the map gives it, takes copies from other nodes, and removes
// what the map has given to others. It takes leases and promotes replicas, hands leases on, and
// stops leading where another leads. It truncates the logs that it leads as far as no replica needs
// them. And it makes the changes of the map that are due, if it is its turn (package placement).
//
// # What is decided where
//
// All decisions are made in one goroutine, by what was read last; see decide.go. What takes long
// (opening, copying, promoting) runs in goroutines of its own, one for each partition at a time,
// and what it has brought about is seen at the next look. So a node may be stopped, or die, at any
// point: the next look finds what is so, and goes on from there. Nothing is remembered that is not
// on disk, in the cluster's store, or in the log.
//
// What was read may be out of date, and two nodes may believe that they lead. Neither loses a
// record: see package coord.
//
// # When a replica is current
//
// A replica is current if it holds, by now, all that the log and the other replicas held at the
// look before, a second ago. Only such a replica takes a lease, counts as a replica when a move
// ends, and gives copies to others.
package node
