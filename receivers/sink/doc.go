// Package sink connects receivers to the engine: a [Sink] takes the samples of all receivers of a
// server.
//
// A Sink makes new series. Its [Policy] decides their step and archives: it is an ordered list of
// rules, and the first [Rule] that matches the path and the labels of a series applies. If none
// matches, the protocol decides. Every sender has an allowance of new series, so that a sender that
// invents names can neither fill the store nor use up the allowance of others. [Stats] counts
// refusals by their reason. A [Sweeper] drops series that have been silent for longer than their
// rule or their sender allows.
//
// Receivers use the interface receivers.Sink and do not import this package.
package sink
