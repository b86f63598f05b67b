//go:build !unix

package owner

import "os"

func mkdir(name string, perm os.FileMode) error { return os.Mkdir(name, perm) }

func openToWrite(name string, flag int, perm os.FileMode, _ bool) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}
