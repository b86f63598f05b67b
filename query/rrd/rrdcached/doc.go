// Package rrdcached speaks the protocol of rrdtool's cache daemon, on both sides.
//
// A [Server] answers over a store, so that what speaks to rrdcached (librrd with an address of a daemon, collectd's plugin,
// scripts) works with rondo in its place. A [Client] speaks to such a server, or to rrdcached itself; it is a [rrdtool.Store],
// so that rrdtool's verbs work through it.
//
// Requests are lines of words. Answers begin with a number: of the lines that follow, or negative for an error. Where rondo
// must differ from rrdcached, docs/rrdcached.md says so. The one difference that matters: an UPDATE is acknowledged when it is
// in the store and durable, so that nothing waits, and nothing that was acknowledged can be lost.
package rrdcached
