// Package sockets is what every listener of a server needs, whatever it speaks: reading datagrams
// many at a time ([UDP]), accepting connections until the server ends ([Accept]), and a bounded
// number of places for them ([Places]). [TCP] puts the latter two together for protocols that read
// a stream: its [Conn] knows who the peer is, ends when the peer is silent for too long or speaks
// HTTP, and reads what had arrived when the server was told to end.
//
// Where all places are taken, the peer that was silent for longest loses its place to a new one, if
// it was silent for a minute. So connections that nobody uses keep nobody out.
package sockets
