// Package rra is the arithmetic of a round-robin database. It turns readings into primary data
// points (PDPs), and PDPs into consolidated rows. It has no clock, no I/O and no goroutine.
//
// A [Definition] says what a series keeps. [Compile] turns it into a [Machine]. The Machine steps a
// [State] with each reading, and returns the rows that the reading has finished as [Run] values. A
// State is a plain value: a slice of 64-bit words, and texts where a reading must be kept as it was
// written. It can be encoded as bytes.
//
// The results equal rrdtool 1.7.2's, bit for bit, on every processor. To that end every product
// that is added to something is written float64(a*b), which forbids the compiler to fuse the
// multiplication and the addition.
package rra
