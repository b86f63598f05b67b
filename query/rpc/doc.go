// Package rpc serves a store over HTTP by Connect, gRPC, gRPC-Web and JSON. The file rondo.proto
// defines two services. The package [github.com/rondo-db/rondo/query/rpc/rondov1], generated from
// it, holds their messages and clients.
//
//   - [Server] is the service Rondo: programs read and write series with it through the HTTP port.
//   - [Local] is the service of the command line. It listens on a socket in the database's folder,
//     which only the folder's owner may open. [ListenLocal] makes the socket, [DialLocal] connects
//     to it.
package rpc

//go:generate go -C gen run .
