// Package detour brings samples of senders that get no answer to the partitions of a cluster.
//
// A [Detour] is a core.Engine over a router.Store whose calls do not wait for a leader. Each
// partition has a lane. A lane gives one part of a batch at a time to the leader of its partition,
// and waits for the outcome. If nobody leads, or the leader does not answer within
// [Options].Patience, the part goes into the spool, and so does everything behind it, until the
// spool has delivered what it holds of the partition. So a partition without a leader holds up no
// other partition, and the samples of a series stay in order.
//
// # References
//
// A series that can neither be found nor made now gets a promise: a reference of the Detour's own
// whose samples go into the spool, with the definition and the labels with which the series is to
// be made. When the partition has a leader, and nothing else in the spool, the ticket of such a
// batch has a core.RejectedError that wraps core.ErrNotFound and counts no refused samples: the
// sender resolves its names again, and gets the reference of the series.
//
// # Delivered twice
//
// A part whose outcome is not known goes into the spool as well. If the leader has stored it all
// the same, the series refuses the second delivery as late: it takes one sample of a time, also
// within the reorder window. So each sample counts once, whatever kind of data source it is for.
//
// # Locks
//
// lane.mu and promises.mu are taken alone. Nobody who holds one of them calls an engine or the
// spool.
package detour
