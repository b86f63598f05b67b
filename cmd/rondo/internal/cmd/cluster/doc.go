// Package cluster has the commands for operators of a cluster.
package cluster
