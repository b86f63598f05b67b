// Package core is the store: a catalogue of series, the samples appended to
// them, the round-robin archives these are consolidated into, and the rows read
// back. It is the only owner of the database file and of the log beside it.
//
// Three sentences hold everywhere. A sample is logged before it is applied, and
// applied in log order. The rows of a series, its state and its log position
// change in one transaction. Append and recovery call one and the same function
// of package rra.
package core
