// Package enginebench drives a store with a made-up monitoring load and
// measures it.
//
// [Ingest] creates the series, appends every reading through the Go API of
// package engine, reads rows back, kills a process that was appending and times
// the recovery. Its readings come from a [Generator], which gives the same
// readings for the same seed on every machine, so that what was stored can be
// checked against what was sent ([Config.Verify]).
//
// Nothing of rondo but the bench commands imports it. It starts processes:
// the program that calls Ingest must hand over to [Child] when it is started
// with the arguments that [Config.Exec] was given.
package enginebench
