// Package rpn compiles and evaluates the reverse Polish expressions of rrdtool 1.7.2 that COMPUTE
// data sources and CDEF lines use, and the functions of VDEF lines ([Statistic]).
//
// [Compile] turns an expression over named variables into a [Program]. A COMPUTE data source checks
// the program with [Program.CheckCompute], and evaluates one row at a time with [Program.Run] or
// [Program.Eval], without allocation. A CDEF evaluates whole columns with [Program.EvalColumns];
// only there do TIME, COUNT, PREV, TREND, PREDICT and similar operators have a meaning.
//
// Results equal rrdtool's to the last bit, with three exceptions:
//   - The last digit of SIN, COS, EXP, LOG, POW and ATAN depends on the library.
//   - Where rrdtool reads memory out of bounds, rondo gives a defined result: ROLL rotates
//     correctly, PERCENT near 0 gives the least element, a negative count is an error, and a window
//     that begins before the first row is unknown.
//   - LTIME is also right in the hours between the turn of the year in the local zone and in UTC,
//     where rrdtool is days off.
//
// A program has at most [MaxNodes] nodes, and its stack at most [MaxStack] elements. A Program
// never changes; any number of goroutines may use it, each with its own stack.
package rpn
