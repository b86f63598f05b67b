// Package replace says which names a new file may take.
//
// A file that is written under another name and then renamed takes the place of whatever bears the
// name: as root of a device, too. After a backup to /dev/null there would be a file in its place.
package replace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// errSpecial is what is wrong with a name that a device, a folder, a pipe or a socket bears.
var errSpecial = errors.New("is not a regular file, which alone may be replaced")

// Check returns an error if something bears the name that is neither a regular file nor a symbolic
// link to one. A name that nothing bears is free.
func Check(name string) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // also a link that leads nowhere
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s %w", name, errSpecial)
	}
	return nil
}
