// Package replace puts a new file in the place of an old one, and checks whether that is right.
//
// A rename replaces whatever has the name. For root that includes a device: after a backup to
// /dev/null a regular file would stand in place of the device.
package replace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// errSpecial says that the name belongs to a device, a folder, a pipe or a socket.
var errSpecial = errors.New("is not a regular file, which alone may be replaced")

// Check returns nil if name is free, or is a regular file or a symbolic link to one. Otherwise it
// returns an error that names the file.
func Check(name string) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // nothing, or a link that leads nowhere
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s %w", name, errSpecial)
	}
	return nil
}
