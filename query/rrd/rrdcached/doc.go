// Package rrdcached is a server of the protocol of rrdtool's cache daemon. Programs that talk to
// rrdcached work with rondo in its place: librrd with the address of a daemon, collectd's plugin,
// scripts. Package rrdclient is the other side.
//
// [New] makes a [Server] over a store, [Listen] opens a socket, and [Server.Serve] answers the
// requests that arrive there. A request is a line of words. An answer begins with a number: how
// many lines follow, or a negative number for an error.
//
// The server acknowledges an UPDATE when its samples are in the store and durable, so that no
// sample waits in a cache and no acknowledged sample can be lost. docs/rrdcached.md lists where the
// server differs from rrdcached.
package rrdcached
