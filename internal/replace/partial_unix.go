//go:build unix

package replace

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/rondo-db/rondo/internal/owner"
)

// createPartial makes a file that no other process writes, or reuses one that a killed process has
// left. It refuses a link, and a file with a second name: somebody else may have put it there.
func createPartial(name string) (*os.File, error) {
	f, err := owner.OpenOwn(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		// The process that held the lock may have renamed the file since it was opened here.
		var ours, there os.FileInfo
		if ours, err = f.Stat(); err == nil {
			if there, err = os.Lstat(name); err == nil && os.SameFile(ours, there) {
				if err = f.Truncate(0); err == nil {
					return f, nil
				}
			}
		}
	}
	_ = f.Close() // nothing was written
	if err == nil || err == unix.EWOULDBLOCK {
		err = fmt.Errorf("%s: another process writes it", name)
	}
	return nil, err
}
