// Package coordtest simulates the servers that keep what nodes tell each other, with their faults.
// See [Servers].
package coordtest
