// Package coord is what the nodes of a cluster announce to each other: who they are, which node
// leads which partition, and the map of partitions.
//
// All of it is a few small values in a [Store], which servers replicate and which compares and
// sets. Package natskv has a Store of NATS JetStream. A node announces itself, again and again, by
// [Announcer]; a [Watcher] reads everything at intervals, and says in a [View] who lives.
//
// # What a lease is for, and what it is not
//
// A [Lease] says which node should try to lead a partition. It is for liveness only: two nodes do
// not take turns at leading, and somebody leads. It is not for safety. A process may be stopped
// after it has looked at its lease, and go on a minute later in the belief that it leads. Then the
// stream of the partition refuses its records, because another writer has claimed the stream
// (package wal/stream). So a lease may be lost, may be held by two nodes, or may be read out of
// date, and no record is lost or written by two.
//
// A lease names a node and the session of it, which is new with each start. It holds as long as the
// node announces itself with this session. So the many partitions of a node cost the servers one
// write an interval, and not one each.
//
// # Time
//
// No clock is compared with another. A node is silent for as long as the Watcher, by its own clock,
// has seen the same revision of its announcement. Time in which the store did not answer does not
// count: when the servers come back, nobody is taken for dead because nobody could be heard.
package coord
