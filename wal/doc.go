// Package wal keeps an ordered log of opaque records in segments and gives back, after any crash,
// every record it acknowledged.
//
// [Open] a folder, [Log.Enqueue] records (or [Log.Append] one and wait), [Log.Replay] them from a position,
// and [Log.Truncate] what is no longer needed. A record's position ([Pos]) is its number: the first is 1, and
// there is none missing between two.
//
// Appends are committed in groups without a timer: a committer takes all that has been enqueued, writes it
// with one call and one fdatasync, calls [Options].OnDurable, and finds waiting what was enqueued meanwhile.
//
// With [SyncAlways] an acknowledged record survives loss of power. A record that was not acknowledged is there
// whole or not at all after a crash, and never without all records before it.
//
// A write or sync that fails (a full disk, an I/O error) fails every record enqueued and not yet durable, gives
// their positions back and leaves the segment for good; the next record opens a new one, so that the log goes
// on by itself when space returns.
//
// The bytes on disk are described in docs/format-wal.md, as are the assumptions about the disk and what each
// crash leaves.
package wal
