// Package wal keeps an ordered log of opaque records in segments and gives back, after any crash,
// every record it acknowledged.
//
// [Open] opens a folder, [Log.Enqueue] adds records ([Log.Append] also waits), [Log.Replay] reads
// them from a position on, and [Log.Truncate] gives up old ones. The position of a record ([Pos])
// is its number: the first is 1, and no number is left out.
//
// Records are committed in groups, without a timer. A goroutine, the committer, takes all records
// that are pending, writes them with one call and one fdatasync, calls [Options].OnDurable, and
// goes on with the records that were enqueued meanwhile.
//
// With [SyncAlways] an acknowledged record survives loss of power. After a crash, a record that was
// not acknowledged is there as a whole or not at all, and only if all records before it are there.
//
// If a write or a sync fails (a full disk, an I/O error), every record that is not yet durable
// fails. Their positions are given out again, and the segment is left for good. The next record
// begins a new segment, so that the log works again by itself when there is space.
//
// Package waltest has the tests that any log passes whose records the engine applies, segments or
// not.
//
// docs/format-wal.md describes the bytes on disk, what is assumed of the disk, and what each crash
// leaves.
package wal
