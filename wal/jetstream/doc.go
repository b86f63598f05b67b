// Package jetstream keeps a log in a stream of NATS JetStream. A Conn connects to the servers,
// makes the stream if it is missing, checks that servers and stream keep what they acknowledge, and
// returns a log that package engine/core can stand on.
//
// docs/design/cluster.md says which settings must hold, and why.
package jetstream
