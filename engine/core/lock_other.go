//go:build !unix

package core

import (
	"io"
	"os"

	"github.com/rondo-db/rondo/internal/owner"
)

// lockFolder leaves locking to the database file.
func lockFolder(name string, o Options) (io.Closer, error) {
	if o.ReadOnly {
		return os.Open(os.DevNull)
	}
	return owner.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
}
