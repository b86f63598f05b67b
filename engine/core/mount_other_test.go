//go:build !linux

package core_test

import "errors"

func mount(string, string, bool, bool) error { return errors.ErrUnsupported }

func unmount(string) error { return nil }
