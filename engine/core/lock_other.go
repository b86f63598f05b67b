//go:build !unix

package core

import (
	"io"
	"os"
)

// lockFolder leaves locking to the database file.
func lockFolder(name string, o Options) (io.Closer, error) {
	if o.ReadOnly {
		return os.Open(os.DevNull)
	}
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
}
