// Package rrdtool is rrdtool's command line over a store: its verbs, options and messages. A name
// of a file means the series of the same path.
//
// [Run] runs one command. [Pipe] runs commands from an input, as `rrdtool -` does, and [Frames]
// does so for programs. The command line, pipe mode, and the server on behalf of a client share
// them. The differences between these, such as the store, the working folder and the time zone, are
// in [Env].
package rrdtool
