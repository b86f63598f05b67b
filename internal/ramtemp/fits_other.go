//go:build !linux

package ramtemp

func fits() bool { return false }
