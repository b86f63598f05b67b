// Package replace puts a new file in the place of an old one, and checks whether that is right.
//
// A rename replaces whatever has the name. For root that includes a device: after a backup to
// /dev/null a regular file would stand in place of the device.
package replace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rondo-db/rondo/internal/owner"
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

// File replaces the file name by the content that write writes, durably. If write fails, the file
// stays unchanged. The content goes to name.partial first. A process that is killed leaves that
// file behind, and the next process reuses it.
func File(name string, write func(io.Writer) error) (err error) {
	if err := Check(name); err != nil {
		return err
	}
	f, err := createPartial(name + ".partial")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // the first error is the one to report
			_ = os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	// The file is still open: its lock keeps other processes from taking it over.
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	return cmp.Or(f.Close(), owner.SyncFolder(filepath.Dir(name)))
}
