// Package clusterbench measures a cluster on this machine: three nats-servers and some nodes of
// rondo, each a process, and the same load on one store beside them.
package clusterbench
