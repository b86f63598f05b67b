// Package rondov1 is the code generated from rondo.proto: the messages, the clients and the
// handlers
// of version 1 of rondo's RPC.
package rondov1
