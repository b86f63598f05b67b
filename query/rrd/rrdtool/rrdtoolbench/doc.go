// Package rrdtoolbench holds rondo's command line against rrdtool's: the same lines to the pipe mode of both, and the same commands as
// processes of their own, in one run, and what they cost. The command line has it as `rondo bench pipe` and `rondo bench oneshot`.
package rrdtoolbench
