// Package gmetric speaks Ganglia's metric protocol: what gmetric, gmond and the small libraries
// written for them send over UDP, in the format of Ganglia 2.5 to 3.0 and in that of 3.1 and later.
//
// [Protocol] is the receiver. It listens on 127.0.0.1:8649 unless told otherwise, on multicast
// groups if asked, and takes both formats on one socket.
//
// Below it, [Message] is one datagram: Decode reads one, AppendBinary writes one. A 3.0 message
// holds a metric's description and its value; since 3.1 the two are messages of their own, and the
// receiver brings them together: it keeps the description of each metric with the store, and holds
// a value back, for a while, whose description it has not seen.
//
// Limits: strings of 1472 bytes, 10,000 values held back. The wire is described in
// docs/wire/gmetric.md.
package gmetric
