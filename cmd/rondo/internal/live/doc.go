// Package live runs programs that own the whole terminal: `rondo plot --watch` and `rondo top`.
//
// A [Program] draws a grid of cells, and gets keys. [Run] gives it the alternate screen of the
// terminal, draws again when the size changes or something was loaded, and writes only cells that
// changed. However Run ends, by a key, by the end of its context or by a panic, the terminal is as
// it was before.
package live
