// Package natskv keeps what the nodes of a cluster tell each other in a key-value bucket of NATS
// JetStream. See [Connect].
package natskv
