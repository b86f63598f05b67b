//go:build !unix

package engine

func mapMemory(n int) []byte { return make([]byte, n) }

func unmapMemory([]byte) {}
