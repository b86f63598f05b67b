// Package rrdcached is a server of the protocol of rrdcached, rrdtool's cache daemon. Programs that
// talk to rrdcached work with rondo in its place: librrd with the address of a daemon, collectd's
// plugin, scripts. Package rrdclient is the client.
//
// [New] makes a [Server] over a store, [Listen] opens a socket, and [Server.Serve] answers the
// requests that arrive there. A request is a line of words. An answer begins with the number of
// lines that follow, or with a negative number for an error.
//
// The server acknowledges an UPDATE when its samples are in the store and durable. No sample waits
// in a cache, and no acknowledged sample is lost. docs/rrdcached.md lists the differences from
// rrdcached.
//
// The way of a request: [Server.Serve] starts a goroutine for each connection. dispatch.go reads
// lines and decides who answers them. update.go puts samples into a burst (burst.go), hands bursts
// to the engine, and writes the answers once they are durable.
package rrdcached
