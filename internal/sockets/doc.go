// Package sockets holds what every listener of a server needs, whatever protocol it speaks.
//
// [UDP] reads many datagrams with one system call. [Accept] takes connections until the server
// ends. [Places] bounds the number of connections. [TCP] combines Accept and Places for protocols
// that read a stream. Its [Conn] knows the peer's name. Reading from a Conn ends when the peer is
// silent for too long, speaks HTTP, or the server ends; bytes that had arrived by then are read.
//
// When all places are taken, a new connection takes the place of the peer that has been silent for
// longest, if that peer has been silent for a minute. Unused connections therefore keep nobody out.
package sockets
