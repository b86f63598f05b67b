//go:build !linux

package engine_test

import "errors"

func mount(string, string, bool, bool) error { return errors.ErrUnsupported }

func unmount(string) error { return nil }
