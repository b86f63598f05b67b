// Package rra turns readings into primary data points, those into consolidated
// rows, and both into bytes.
//
// It holds the arithmetic of a round-robin database and nothing else: no clock,
// no I/O, no goroutine. A [Definition] says what a series keeps; [Compile]
// turns it into a [Machine]; the Machine steps a [State], which is a plain value
// (a slice of 64-bit words, and texts where a reading must be kept as written),
// and hands out the rows that a reading finished as [Run] values.
//
// Every product that feeds a sum is written float64(a*b), so that no compiler
// may fuse the two: the bits are those of rrdtool 1.7.2 on every processor.
package rra
