//go:build !unix

package engine

func mapMemory(n int) (b []byte, mapped bool) { return make([]byte, n), false }

func unmapMemory([]byte) {}
