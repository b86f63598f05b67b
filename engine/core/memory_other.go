//go:build !unix

package core

func mapMemory(n int) (b []byte, mapped bool) { return make([]byte, n), false }

func unmapMemory([]byte) {}
