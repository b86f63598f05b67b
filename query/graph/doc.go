// Package graph draws what `rrdtool graph` draws, from the same options and the same lines.
//
// [Options] takes options one by one. [New] reads the lines of a graph, [Graph.Run] fetches their
// data and calculates, and [Graph.Layout] says where everything stands, in pixels, without drawing.
// [Layout.Draw] draws it on a canvas, and [Graph.Info] returns the numbers that `rrdtool graphv`
// prints.
//
// Sizes, places, limits and texts equal rrdtool 1.7.2's with its default font, learned from the
// program. A graph is bounded: [MaxSide] pixels on a side, [MaxElements] lines, and what package
// graphdata allows for its data.
package graph
