//go:build unix

package rrdd

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openFlags keep a Writer from following a link and from waiting at a FIFO.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK

// folderFlags make opening fail, without waiting, if the name is not a folder.
const folderFlags = unix.O_DIRECTORY | unix.O_NONBLOCK

// openIn opens the file name in the folder dir for reading, unless it is a link. It does not
// wait at a FIFO.
func openIn(dir *os.File, name string) (*os.File, error) {
	for {
		fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), name), nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ELOOP), errors.Is(err, unix.EMLINK), errors.Is(err, unix.ENXIO):
			return nil, errGone // it is a link, or a socket
		}
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
}
