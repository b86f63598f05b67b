// Package peerv1 is the code generated from peer.proto: the messages, the client and the handler of
// the protocol between the nodes of a cluster.
package peerv1
