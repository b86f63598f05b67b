// Package operator is the service Cluster of the RPC: what operators ask of a cluster, and what
// they change. A node answers it at its port and its socket, and the command line answers itself by
// it with --cluster, when no node does. What it does is in package operate; here it gets the words
// and the codes of the RPC.
package operator
