// Package smon speaks the smon compressed token stream: named values, made small by numbering
// the names and sending differences.
//
// [Protocol] is the receiver. It listens where --smon says, and reads files and standard input.
//
// Below it, [Decoder] turns a stream, in pieces of any size, into values, and [Encoder] makes a
// stream of them. A Decoder is the whole state machine: tokens defined on the way, unsigned and
// string tokens, differences and absolute numbers of up to 16 bytes, indexes, indexed tokens, and
// the reset after which a damaged stream is right again.
//
// Limits: 65535 tokens, texts of 65536 bytes, indexes 8 deep, and a bound on all that a stream
// makes a decoder keep. The wire is described in docs/wire/smon.md.
package smon
