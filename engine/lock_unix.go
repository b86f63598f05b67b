//go:build unix

package engine

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// lockFolder takes the lock of a store: alone to write, shared to read. The
// file names the process that writes.
func lockFolder(name string, o Options) (io.Closer, error) {
	flag, how := os.O_RDWR|os.O_CREATE, unix.LOCK_EX
	if o.ReadOnly {
		flag, how = os.O_RDONLY, unix.LOCK_SH
	}
	f, err := os.OpenFile(name, flag, 0o644)
	if err != nil {
		if o.ReadOnly && os.IsNotExist(err) {
			return nopCloser{}, nil
		}
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(name) // best effort: who it is
		_ = f.Close()
		if text := strings.TrimSpace(string(holder)); text != "" {
			return nil, fmt.Errorf("%w by %s", ErrLocked, text)
		}
		return nil, ErrLocked
	}
	if !o.ReadOnly {
		if err := f.Truncate(0); err == nil {
			_, err = fmt.Fprintf(f, "%s, process %d\n", o.Owner, os.Getpid())
			if err != nil {
				_ = f.Close()
				return nil, err
			}
		}
	}
	return f, nil
}

type nopCloser struct{}

func (nopCloser) Close() error { return nil }
