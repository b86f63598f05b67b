// Package rondotest runs the program in tests: the test binary is rondo, too. It starts servers and
// commands, and waits for what they do.
package rondotest
