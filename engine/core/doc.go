// Package core is the store as rondo's own packages use it: receivers, queries, the server and the
// command line. A program that embeds the store imports package engine, which wraps this package
// and changes less often.
//
// The package example shows the whole circle: open a folder, create a series, append samples, fetch
// rows, close.
//
// # The promise
//
// Three sentences hold everywhere. A sample is logged before it is applied, and applied in the
// order of the log. The rows of a series, its state and its log position change in one transaction.
// Append and recovery apply samples with the same functions, so that replay gives the same bits.
//
// # What holds what
//
// A [Store] opens and closes its parts and hands calls on to them:
//
//   - The catalogue (catalogue*.go) knows names, labels and definitions. It keeps in memory what
//     the database does not hold yet. Series of one shape form a class (class.go). 256 series of a
//     class at most form a group (group.go), which holds their states, open rows and coded rows.
//   - The admission (admission.go) makes writers wait while memory or the log is over its limit.
//   - The appender (appender.go) codes batches into records, puts these into the [Log], and gives
//     durable records to the shards. A shard (shard.go) is a goroutine that applies records to the
//     groups that hash to it.
//   - The loader (load.go) reads the state of a group from the database when somebody needs it.
//   - The checkpointer (checkpoint.go) writes changed groups and the catalogue into the database,
//     and shortens the log.
//   - Metadata (metadata.go) and notes (notes.go) are kept beside the series, by path.
//
// Packages below engine/internal do the work that needs no store: boltfile is the only door to
// bbolt, rowblock lays out blocks of rows, record reads and writes records, pending and held keep
// coded rows and early samples, memory is memory outside of the collector's heap, and damage names
// damaged bytes. Package rra computes rows from samples, and package wal is the log.
//
// # The way of a sample
//
//  1. [Append] or [Store.Submit] waits for admission. It splits the batch into runs: samples
//     of one group and one time (split.go).
//  2. The appender checks and codes the runs against the values that were logged before, and
//     enqueues the record (encode.go, appender.submit).
//  3. The log writes and syncs the record and reports to the appender, which gives it to the shards
//     (appender.durable, appender.dispatch).
//  4. Each shard applies its runs: rra steps the states, and closed rows go into the buffers of
//     the group (apply.go, group.push). A full buffer becomes coded rows (group.flush). When the
//     last shard is done, the batch is acknowledged.
//  5. A checkpoint takes a snapshot of each changed group, arranges its coded rows in blocks, and
//     writes blocks and state in one transaction (checkpoint.go, checkpoint_tx.go).
//  6. [Store.Fetch] joins the rows of the database, the coded rows and the open rows (fetch.go).
//
// After a crash, Open replays the log behind the last checkpoint through step 4 (recover.go).
//
// # Leader and follower
//
// Several stores may share a log that is not in their folders: [Options].OpenLog and Follow. Open
// then returns a follower, which applies the log through step 4 without end (follow.go, inbox.go)
// and writes checkpoints. [Store.Promote] makes it the leader, which is the only one that writes.
// [Store.Demote] makes it a follower again, and so does the log when another process has become its
// writer (replica.go). Nothing is opened anew, because what is in memory was applied, and only
// durable records are applied. [Store.Standing] returns the role and how far the store has come.
//
// # Locks
//
// Whoever takes several of these locks takes them in this order:
//
//  1. replica.changing: one change of the role at a time
//  2. checkpointer.mu: one checkpoint at a time
//  3. boltfile.File.writing: one writing transaction at a time
//  4. appender.mu: coding and the order of the log
//  5. appender.dispatching: one delivery to the shards at a time
//  6. catalogue.reserving: series that are about to be made are counted
//  7. shard.mu: one record at a time
//  8. group.mu: the series of a group
//  9. table.mu: names and labels that the database does not hold yet, in order
//  10. catalogue.mu: what the database does not hold of the catalogue yet
//
// The other locks are taken last. Nobody who holds one of them takes another lock, with one
// exception: trustMu is held around damage.Seen.mu. They are replica.mu, inbox.mu, metadata.mu,
// notes.mu, queue.mu, underway.mu, Ticket.mu, admission.mu,
// boltfile.File.trustMu, boltfile.File.toldMu, damage.Seen.mu and memory.Pool.mu.
//
// No transaction begins while the lock of a group or of the catalogue is held: bbolt may make a new
// transaction wait for readers, and a reader may wait for that lock. A transaction that a group
// needs begins before the group is locked.
package core
