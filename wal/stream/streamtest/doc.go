// Package streamtest simulates the servers of a replicated stream, with their faults. See
// [Cluster].
package streamtest
