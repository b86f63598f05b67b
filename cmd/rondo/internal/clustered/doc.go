// Package clustered makes a server a node of a cluster. [Join] connects to the servers of NATS that
// keep the logs of the partitions and what nodes announce, opens the replicas of this node, listens
// for the other nodes, and gives all partitions as one engine.
//
// The parts are rooms of their own: package node runs the partitions, router makes one engine of
// them, detour brings them what comes over UDP, natskv keeps what nodes announce, jetstream keeps
// the logs, and peer lets nodes use each other's partitions. This package puts them together.
package clustered
