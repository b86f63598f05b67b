// Package engine is rondo's store for Go programs: a database of time series in a folder, with
// rrdtool's round-robin archives. Every series keeps rows of fixed lengths of time, as many of each
// as its definition says, and so a fixed size.
//
// [Open] opens a folder. [Store.Create] makes a series of a [Spec], whose definition [Define] reads
// from plain words, and returns a [Ref], by which the series is addressed from then on. Samples of
// many series are gathered in a [Batch] and stored with one [Store.Append]: when it returns they
// are on disk, and every read sees them (but for those that Options.Reorder holds). [Store.Fetch]
// reads rows.
//
// A program that imports this package links four modules besides the standard library: bbolt,
// klauspost/compress, snappy and x/sys. Package engine/core is the store itself, with more ways in
// and less promise to stay as it is.
package engine
