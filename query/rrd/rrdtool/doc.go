// Package rrdtool is rrdtool's command line over a store: its verbs, options,
// words and messages.
//
// [Run] runs one command, given the way a shell would give it. The command
// line, pipe mode and the server on behalf of a client share it; what differs
// between them (whose store, which working directory, which time zone) is in
// [Env]. Where rrdtool names a file, a series of the same path is meant.
package rrdtool
