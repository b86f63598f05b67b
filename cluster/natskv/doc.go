// Package natskv keeps what the nodes of a cluster announce in a key-value bucket of NATS
// JetStream. See [Connect].
package natskv
