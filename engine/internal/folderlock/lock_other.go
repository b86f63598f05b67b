//go:build !unix

package folderlock

import (
	"io"
	"os"

	"github.com/rondo-db/rondo/internal/owner"
)

// Take leaves locking to the database file.
func Take(name, _ string, readOnly bool) (io.Closer, error) {
	if readOnly {
		return os.Open(os.DevNull)
	}
	return owner.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
}
