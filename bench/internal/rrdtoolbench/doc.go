// Package rrdtoolbench compares rondo's command line with rrdtool's. It writes the same lines to
// the pipe mode of both, runs the same commands as processes of their own, draws the same graphs
// with both, and measures what they cost. The commands are `rondo-bench pipe`, `oneshot` and
// `graph`.
package rrdtoolbench
