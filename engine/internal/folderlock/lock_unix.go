//go:build unix

package folderlock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rondo-db/rondo/internal/owner"
)

// Take takes the lock in the file name: alone to write, shared to read. The file names the process
// that writes, as owning calls it. Close of what it returns gives the lock back.
func Take(name, owning string, readOnly bool) (io.Closer, error) {
	flag, how := os.O_RDWR|os.O_CREATE, unix.LOCK_EX
	if readOnly {
		flag, how = os.O_RDONLY, unix.LOCK_SH
	}
	f, err := owner.OpenFile(name, flag, 0o600)
	if err != nil {
		if readOnly && os.IsNotExist(err) {
			return io.NopCloser(nil), nil
		}
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(f, 1<<10)) // without a name the error is still right
		readers := lockReaders(f)
		_ = f.Close()
		// A writer that was killed has left its name, too.
		if text := strings.TrimSpace(string(holder)); text != "" && len(readers) == 0 {
			return nil, fmt.Errorf("%w by %s", ErrLocked, text)
		}
		return nil, fmt.Errorf("%w by %s", ErrLocked, readersText(readers))
	}
	if !readOnly {
		if err := f.Truncate(0); err == nil {
			// The name only helps other processes. A full disk may have no room for it.
			_, _ = fmt.Fprintf(f, "%s, process %d\n", owning, os.Getpid())
		}
	}
	return &folderLock{f, !readOnly}, nil
}

// readersText names the processes that read a store.
func readersText(pids []int) string {
	switch len(pids) {
	case 0:
		return "a process that reads it"
	case 1:
		return fmt.Sprintf("process %d, which reads it", pids[0])
	}
	return fmt.Sprintf("process %d and %d more, which read it", pids[0], len(pids)-1)
}

// A folderLock is the open lock file.
type folderLock struct {
	*os.File
	writer bool
}

// Close releases the lock by name: a process that is just being started shares the open file until
// it runs its program, and would hold the lock as long. The writer's name goes with it.
func (l *folderLock) Close() error {
	if l.writer {
		_ = l.Truncate(0) // so that no error names a process that has ended
	}
	return errors.Join(unix.Flock(int(l.Fd()), unix.LOCK_UN), l.File.Close())
}
