// Package collectd speaks collectd's binary network protocol, which the network plugin of collectd
// 4 and 5, go-collectd, libcollectdclient and others send over UDP.
//
// [Protocol] is the receiver. It listens on 127.0.0.1:25826 by default, joins multicast groups if
// asked, and takes plain, signed and encrypted packets.
//
// A [Decoder] turns a datagram into value lists and notifications; an [Encoder] turns them into a
// datagram. The Decoder reads the whole protocol: every part, times in seconds and in high
// resolution, signatures (HMAC-SHA-256) and encryption (AES-256-OFB), up to four of them nested.
// [Types] are the data sources of the types that come with collectd 5.12; it reads further types.db
// files.
//
// Limits: names of 127 bytes, messages of 255 bytes, 256 data sources in a new series.
// docs/wire/collectd.md describes the protocol.
package collectd
