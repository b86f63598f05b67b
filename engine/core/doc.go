// Package core is the store as rondo's own rooms use it: receivers, queries, the server and the
// command line. Programs that embed the store use package engine, which wraps this one and changes
// less often.
//
// The store is a catalogue of series, the samples appended to
// them, the round-robin archives these are consolidated into, and the rows read
// back. It is the only owner of the database file and of the log beside it.
//
// Three sentences hold everywhere. A sample is logged before it is applied, and
// applied in log order. The rows of a series, its state and its log position
// change in one transaction. Append and recovery call one and the same function
// of package rra.
//
// Locks are taken in this order: the checkpointer's mu, the database's writing, the appender's mu
// and dispatching, a shard's mu, a group's mu, catalogue.mu. The locks of queue, underway, counters
// and memory are taken last and alone.
package core
