// Package rrdtoolbench compares rondo's command line with rrdtool's. It writes the same lines to
// the pipe mode of both, runs the same commands as processes of their own, and measures what they
// cost. The commands are `rondo-bench pipe` and `rondo-bench oneshot`.
package rrdtoolbench
