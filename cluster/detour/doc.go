// Package detour brings samples of senders that get no answer to the partitions of a cluster.
//
// A [Detour] is a core.Engine over a router.Store whose calls do not wait for a leader. Each
// partition has a lane. A lane gives one part of a batch at a time to the leader of its partition,
// and waits for the outcome. If nobody leads, or the leader does not answer within
// [Options].Patience, the part goes into the spool, and so does everything behind it, until the
// lane has delivered what it holds there. So a partition without a leader holds up no other
// partition, and the samples of a series stay in order: a series refuses a sample that is older
// than its last.
//
// # The spool
//
// The spool keeps samples with the paths of their series, because a Ref may be of another series
// after a restart. Each partition has a log of its own (package wal) in a folder below
// [Options].Dir. The folder goes when all of it was delivered, so an idle spool has no files. From
// 80 % of its size on, the spool refuses samples of series that it would have to make, and at 100 %
// every sample. Both are counted by their [Reason].
//
// # References
//
// A series that can neither be found nor made now gets a promise: a reference of the Detour's own
// whose samples go into the spool, with the definition and the labels with which the series is to
// be made. When the partition has a leader, and nothing else in the spool, the ticket of such a
// batch has a core.RejectedError that wraps core.ErrNotFound and counts no refused samples: the
// sender resolves its names again, and gets the reference of the series.
//
// # What a crash leaves
//
// A sample that is in the spool is there again after a crash of the process. Loss of power may take
// what came in the last second. Samples that were delivered just before may be delivered once more,
// and so is a part whose outcome is not known. If the leader has stored it all the same, the series
// refuses the second delivery as late: it takes one sample of a time, also within the reorder
// window. So each sample counts once, whatever kind of data source it is for. A folder whose
// removal was cut short has another name by then, and New removes the rest.
//
// # Locks
//
// lane.mu and promises.mu are taken alone, and lane.logMu before Detour.countsMu. Nobody who holds
// one of them calls an engine.
package detour
