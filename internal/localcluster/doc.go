// Package localcluster runs a cluster on this machine: three servers of NATS and three nodes of
// rondo, each a process, as if on three machines. Machine i has server i and node i.
//
// A [Process] can be killed, stopped and continued, and is started again by whoever uses the
// package; with Keep, one that ends by itself is started again as a service manager would. Whoever
// wants to cut connections puts something between the processes: see Options.Link.
package localcluster
