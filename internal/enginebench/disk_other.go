//go:build !linux

package enginebench

import "os"

func datasync(f *os.File) error { return f.Sync() }
