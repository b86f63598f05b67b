// Package rpc serves a store by Connect, gRPC, gRPC-Web and JSON over HTTP: the services of
// rondo.proto, whose messages and clients are in [github.com/rondo-db/rondo/query/rpc/rondov1].
//
// [Server] is the service Rondo, for whoever may reach the HTTP port. [Local] is the service of the
// command line, on a socket in the database's folder that only the folder's owner may open:
// [ListenLocal] makes it and [DialLocal] finds it.
package rpc

//go:generate go -C gen run .
