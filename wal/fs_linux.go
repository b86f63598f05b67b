package wal

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// control runs fn on f's descriptor, holding it open meanwhile: with Fd alone a Close on another
// goroutine could hand the number to another file. It repeats on EINTR.
func control(f *os.File, op string, fn func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var ferr error
	err = conn.Control(func(fd uintptr) {
		for {
			if ferr = fn(int(fd)); !errors.Is(ferr, unix.EINTR) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	if ferr != nil {
		return &os.PathError{Op: op, Path: f.Name(), Err: ferr}
	}
	return nil
}

// datasync leaves out the times of the file, which nobody needs after a crash, and so often the
// journal.
func datasync(f *os.File) error { return control(f, "fdatasync", unix.Fdatasync) }

func allocate(f *os.File, offset, length int64) error {
	err := control(f, "fallocate", func(fd int) error { return unix.Fallocate(fd, 0, offset, length) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}
