// Package spool keeps samples of senders that cannot wait, while nobody leads their partition.
//
// [Open] opens a folder. [Spool.Add] keeps samples with the paths of their series, because a Ref
// may be of another series after a restart. [Spool.Run] delivers what is kept, each partition by
// itself and in order, as soon as the partition has a leader. While [Spool.Holds] says that a
// partition has samples here, later ones go behind them: a series refuses a sample that is older
// than its last.
//
// Each partition has a log of its own (package wal) in a folder below the spool's. The folder goes
// when all of it was delivered, so an idle spool has no files.
//
// # What a crash leaves
//
// A sample that Add has kept is there again after a crash of the process. Loss of power may take
// what was kept in the last second. Samples that were delivered just before may be delivered once
// more: their series have them and refuse them as late, so they count once. A folder whose removal
// was cut short has another name by then, and Open removes the rest.
//
// # When it is full
//
// From 80 % of its size on, a spool refuses samples of series that it would have to make, and at
// 100 % every sample. Both are counted by their reason.
package spool
