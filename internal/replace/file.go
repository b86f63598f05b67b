package replace

import (
	"cmp"
	"io"
	"os"
	"path/filepath"

	"github.com/rondo-db/rondo/internal/owner"
)

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
