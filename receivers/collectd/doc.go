// Package collectd speaks collectd's binary network protocol: what the network plugin of
// collectd 4 and 5 sends over UDP, and go-collectd, libcollectdclient and others with it.
//
// [Protocol] is the receiver. It listens on 127.0.0.1:25826 unless told otherwise, on
// multicast groups if asked, and takes plain, signed and encrypted packets.
//
// Below it, [Decoder] turns a datagram into value lists and notifications, and [Encoder]
// makes datagrams of them. A Decoder reads the whole protocol: every part, old and high
// resolution times, signature (HMAC-SHA-256), encryption (AES-256-OFB), up to four of these
// inside each other. [Types] knows the data sources of the types that come with collectd
// 5.12, and reads further types.db files.
//
// Limits: names of 127 bytes, messages of 255, a new series of 256 data sources. The wire is
// described in docs/wire/collectd.md.
package collectd
