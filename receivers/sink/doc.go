// Package sink is where all receivers of a server bring their samples: a [Sink] over the engine.
//
// A Sink makes the series that are new. The [Policy] says of what: an ordered list of [Rule]s, the
// first that matches a series' path and labels decides, and where none does the protocol. Every
// sender has an allowance of new series, so that one that invents names fills neither the store nor
// the others' share; [Stats] counts what was refused, and why. A [Sweeper] drops series that have
// been silent for longer than their rule or their sender allows.
//
// Receivers know the interface receivers.Sink alone, not this package.
package sink
