// Package client lets a Go program write series to a rondo server and read them.
//
// [New] returns a [Client] of the server at an address. Its methods take and return Go's types:
//
//   - [Client.Write] stores samples in batches and tries again what a restart of the server has
//     interrupted.
//   - [Client.Fetch] returns the rows of a series, and [Client.Query] evaluates PromQL.
//   - [Client.List] yields series, page after page.
//   - [Client.Tail] yields new rows as they close, and goes on after a restart of the server.
//   - [Client.Backup] writes a copy of the whole store.
//
// The field API has every method of the service, as generated from rondo.proto.
//
// Errors of a server have a code: connect.CodeOf(err) is connect.CodeNotFound if there is no such
// series. The package needs no other modules than connect and protobuf, and none of rondo's engine.
package client
