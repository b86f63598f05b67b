// Package rpn compiles and evaluates the reverse Polish expressions of
// rrdtool 1.7.2, as COMPUTE data sources and CDEF lines use them.
//
// [Compile] turns an expression over named variables into a [Program]. A COMPUTE
// data source checks it with [Program.CheckCompute] and evaluates one row at a
// time with [Program.Run] or [Program.Eval], without allocation. A CDEF evaluates
// whole columns with [Program.EvalColumns], where TIME, COUNT, PREV, TREND,
// PREDICT and their like have a meaning.
//
// Results are rrdtool's to the last bit, save for SIN, COS, EXP, LOG, POW and
// ATAN, whose last digit belongs to the processor's library, and for expressions on which
// rrdtool reads memory that is not its own: ROLL rotates what it should, PERCENT
// near 0 gives the least element, a count that is negative is an error, and a
// window that begins before the first row is unknown. LTIME is right in the hours
// between the turn of the year here and in UTC, too, where rrdtool is days off.
//
// A program is bounded: it has at most [MaxNodes] nodes, and its stack at most
// [MaxStack] elements. A Program holds nothing that changes; any number of
// goroutines may use one, each with its own stack.
package rpn
