//go:build !linux

package boltfile

func dropPages([]byte) {}

func dropRange(from, size uintptr) {}
