// Package reshape changes what a series is made of: its data sources, its archives, the number of
// their rows, its step. It computes on a copy of a series (core.Copy) and never touches a store.
//
// [Apart] takes a copy apart into a [Series]. Its methods change the parts; [Series.Copy] puts them
// together again. Two kinds of work need rows that no archive holds yet:
//
//   - An archive that is added or that grows gets rows from the other archives of the same series,
//     by the rules of rrdtool's tune: see [Donors].
//   - A new series is filled from other series, by the rules of rrdtool's create --source or, where
//     one series goes on in another shape, by the rules of rondo's alter: see [Plan].
//
// All three rules fill the ring of an archive row by row, oldest first, with the same function;
// they differ in how they consolidate the rows that overlap the time of one row. Results for tune
// and create equal rrdtool's to the last bit.
//
// The error of a change that cannot be made has a message for users. The series is then partly
// changed and must not be used.
package reshape
