// Package gmetric speaks Ganglia's metric protocol: what gmetric, gmond and the small libraries
// written for them send over UDP, in the format of Ganglia 2.5 to 3.0 and in the format of 3.1 and
// later.
//
// [Protocol] is the receiver. It listens on 127.0.0.1:8649 by default, on multicast groups if
// asked, and takes both formats on one socket.
//
// A [Message] is one datagram: Decode reads it, AppendBinary writes it. In the format of 3.0 one
// message holds both the description of a metric and its value. Since 3.1 they are two messages,
// which the receiver brings together: it keeps the description of each metric in the store, and
// holds a value back, for a while, if it has no description.
//
// Limits: strings of 1472 bytes, 10,000 values held back. docs/wire/gmetric.md describes the
// protocol.
package gmetric
