//go:build !unix

package core

func mapMemory(n int) (b []byte, mapped bool) { return make([]byte, n), false }

func unmapMemory([]byte) {}

// dropMemory may give the pages of b back; here they stay for the next who asks for as many bytes.
func dropMemory([]byte) {}
