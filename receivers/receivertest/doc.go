// Package receivertest is the test suite that every receiver passes. A receiver's test calls [Run]
// with a [Case]: the protocol, its messages, some garbage.
//
// Tests of one receiver alone use parts of it: [Start] serves a receiver into a [Recorder], a sink
// that remembers what it was given. Benchmarks use the sink [Nowhere]. [Hex] and [Examples] read
// captured packets and the examples of pages.
package receivertest
