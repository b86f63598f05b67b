//go:build !linux

package engine

func dropPages([]byte) {}

func dropRange(from, size uintptr) {}
