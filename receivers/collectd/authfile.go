package collectd

import (
	"os"
	"time"

	"github.com/rondo-db/rondo/internal/conffile"
)

// An authFile is a users file that is read again when its modification time changes.
type authFile struct {
	name  string
	users *Users
	open  bool // others can read it
	mtime time.Time
	size  int64
}

// maxAuthFile is the size of the largest users file in bytes.
const maxAuthFile = 64 << 20

func openAuthFile(name string) (*authFile, error) {
	f := &authFile{name: name}
	fi, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	f.open = fi.Mode().Perm()&0o004 != 0
	if err := f.read(fi); err != nil {
		return nil, err
	}
	return f, nil
}

// reload reads the file again if it has changed, and reports whether it has. If there is an error
// the old users stay.
func (f *authFile) reload() (bool, error) {
	fi, err := os.Stat(f.name)
	if err != nil {
		return false, err
	}
	if fi.ModTime().Equal(f.mtime) && fi.Size() == f.size {
		return false, nil
	}
	if err := f.read(fi); err != nil {
		return false, err
	}
	return true, nil
}

func (f *authFile) read(fi os.FileInfo) error {
	b, err := conffile.Read(f.name, maxAuthFile)
	if err != nil {
		return err
	}
	f.users, f.mtime, f.size = ParseUsers(string(b)), fi.ModTime(), fi.Size()
	return nil
}
