// Package receivertest is the suite that every receiver passes, and a sink that
// remembers what it was given.
//
// A receiver's test calls [Run] with a [Case]: the protocol, a message, some garbage.
package receivertest
