// Package copying copies everything that one engine has into another: series with states and rows
// as they are, labels, metadata and notes. It reads back what it has written, and compares.
//
// A copy that was interrupted is made again: what is there and equal stays, the rest follows. So
// [Copy] needs no journal.
//
// The engine that is read must not change meanwhile. Into the other one nobody else writes the
// series that are copied; what others have made newer is left alone and reported.
package copying
