// Package graphdata is the part of rrdtool's graph language that names data: DEF,
// CDEF, VDEF, SHIFT and XPORT, as `rrdtool xport` and `rrdtool graph` take them.
//
// A [Program] is what such lines define over a range of time. [New] begins one,
// [Program.Add] reads a line, [Program.Run] fetches and calculates, and
// [Program.Series] and [Program.Grid] give what came out: columns, the numbers of VDEFs, and
// the rows that all exported columns have in common.
//
// Rows, the order in which mistakes are found, and their texts are those of
// rrdtool 1.7.2, learned from the program. Where it reads memory that is not
// its own (a column that does not cover the whole range), values are unknown here.
package graphdata
