// Package verbs has the commands whose arguments are rrdtool's: a command for each verb, rondo
// rrdtool, and the pipe modes.
package verbs
