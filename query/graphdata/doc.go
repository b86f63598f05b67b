// Package graphdata reads and evaluates rrdtool's graph language: the lines that define data (DEF,
// CDEF, VDEF, SHIFT, XPORT), and the lines that print and draw, as `rrdtool xport` and `rrdtool
// graph` accept them.
//
// A [Program] holds such lines for one range of time:
//
//   - [New] makes a program without lines, and [Program.Add] reads a line.
//   - [Program.Run] fetches the data and calculates.
//   - [Program.Series] returns the column of a variable, or the number of a VDEF.
//   - [Program.Grid] returns the rows that all exported columns have in common.
//   - [Program.Marks] returns the texts of PRINT and of the lines that draw, as xport writes them,
//     and [Program.Written] as graph does.
//
// The rows, the order in which mistakes are reported, and the texts of the errors equal rrdtool
// 1.7.2's, learned by experiment. rrdtool reads memory that is not its own if a column does not
// cover the whole range; here such values are unknown.
package graphdata
