//go:build unix

package rrdd

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// openFlags keep a Writer from following a link and from waiting at a FIFO.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK

// folderFlags make opening fail, without waiting, if the name is not a folder.
const folderFlags = unix.O_DIRECTORY | unix.O_NONBLOCK

// openPlain opens the regular file name in the folder dir, and returns its size. It does not follow
// a link, nor wait at a FIFO: the error is errGone then.
func openPlain(dir *os.File, name string) (f plainFile, size int64, err error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	})
	switch {
	case errors.Is(err, unix.ENOENT):
		return f, 0, errGone
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EMLINK), errors.Is(err, unix.ENXIO):
		return f, 0, errGone // a link, or a socket
	case err != nil:
		return f, 0, &os.PathError{Op: "open", Path: name, Err: err}
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errGone
	}
	if err != nil {
		_ = unix.Close(fd) // nothing was written
		return f, 0, err
	}
	return plainFile(fd), st.Size, nil
}

// A plainFile is the descriptor of a file that is open for reading. An os.File would cost a few
// hundred bytes each time.
type plainFile int

// ReadAt is io.ReaderAt's.
func (f plainFile) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		k, err := retry(func() (int, error) { return unix.Pread(int(f), p[n:], at+int64(n)) })
		if err != nil {
			return n, err
		}
		if k == 0 {
			return n, io.EOF
		}
		n += k
	}
	return n, nil
}

func (f plainFile) close() { _ = unix.Close(int(f)) } // nothing was written

// retry calls f again while a signal has interrupted it.
func retry(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
