// Package graphdata is rrdtool's graph language: the lines that name data, DEF,
// CDEF, VDEF, SHIFT and XPORT, and those that print and draw, as `rrdtool xport` takes them.
//
// A [Program] is what such lines define over a range of time. [New] begins one, [Program.Add] reads
// a line, [Program.Run] fetches and calculates, and [Program.Series] and [Program.Grid] give what
// came out: columns, the numbers of VDEFs, and the rows that all exported columns have in common.
// [Program.Marks] is what PRINT and the lines that draw write beside them.
//
// Rows, the order in which mistakes are found, and their texts are those of
// rrdtool 1.7.2, learned from the program. Where it reads memory that is not
// its own (a column that does not cover the whole range), values are unknown here.
package graphdata
