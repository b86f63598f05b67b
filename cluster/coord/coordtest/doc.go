// Package coordtest simulates the servers that keep what nodes announce, with their faults. See
// [Servers].
package coordtest
