// Package typesv1 is the code generated from rondo_types.proto: the messages that version 1 of
// rondo's RPC and the protocol between nodes share.
package typesv1
