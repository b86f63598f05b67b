// Package smon speaks smon's compressed token stream: named values, compressed by numbering the
// names (tokens) and sending differences.
//
// [Protocol] is the receiver. It listens at the address of --smon, and reads files and standard
// input.
//
// A [Decoder] reads a stream and hands over its values; an [Encoder] makes such a stream. The
// Decoder knows the whole protocol: tokens that the stream defines, unsigned and string tokens,
// differences and absolute numbers of up to 16 bytes, indexes, indexed tokens, and the reset after
// which a damaged stream can be read again.
//
// Limits: 65535 tokens, texts of 65536 bytes, 8 levels of indexes, and a bound on the memory that
// one stream takes. docs/wire/smon.md describes the protocol.
package smon
