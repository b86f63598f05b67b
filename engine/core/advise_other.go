//go:build !linux

package core

func dropPages([]byte) {}

func dropRange(from, size uintptr) {}
