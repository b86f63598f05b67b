//go:build unix

package owner

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openToWrite opens a file without changing it, checks it, and only then empties it if flag says
// so. With given, a new file gets the owner of its folder.
func openToWrite(name string, flag int, perm os.FileMode, given bool) (*os.File, error) {
	asItIs := flag&^os.O_TRUNC | unix.O_NOFOLLOW
	var f *os.File
	var err error
	if given && flag&os.O_CREATE != 0 && os.Geteuid() == 0 {
		f, err = createAsRoot(name, asItIs, perm)
	} else {
		f, err = os.OpenFile(name, asItIs, perm)
	}
	if err != nil {
		// Systems report the refusal of O_NOFOLLOW with different errors.
		if there, err2 := os.Lstat(name); err2 == nil && there.Mode()&os.ModeSymlink != 0 && !errors.Is(err, os.ErrExist) {
			err = &os.PathError{Op: "open", Path: name, Err: errLink}
		}
		return nil, err
	}
	if err = check(f); err == nil && flag&os.O_TRUNC != 0 {
		err = f.Truncate(0)
	}
	if err != nil {
		_ = f.Close() // err is why
		return nil, err
	}
	return f, nil
}

// check refuses a file through which another file could be changed.
func check(f *os.File) error {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		err = errRegular
	case st.Nlink > 1:
		err = errNames
	default:
		return nil
	}
	return &os.PathError{Op: "open", Path: f.Name(), Err: err}
}

// createAsRoot opens name, or makes it and gives it to the owner of its folder. A file that exists
// keeps its owner.
func createAsRoot(name string, flag int, perm os.FileMode) (*os.File, error) {
	above, err := openFolder(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = above.Close() }() // nothing was written through it
	// Somebody may remove the file between the two calls, but hardly ever twice.
	for range 100 {
		f, err := openAt(above, name, flag|os.O_CREATE|os.O_EXCL, perm)
		if err == nil {
			give(f, above)
			return f, nil
		}
		if flag&os.O_EXCL != 0 || !errors.Is(err, os.ErrExist) {
			return nil, err
		}
		f, err = openAt(above, name, flag&^os.O_CREATE, 0)
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			return f, err
		}
	}
	return nil, &os.PathError{Op: "open", Path: name, Err: errors.New("it comes and goes")}
}

// mkdir makes a folder and, as root, gives it to the owner of the one above it.
func mkdir(name string, perm os.FileMode) error {
	if os.Geteuid() != 0 {
		return os.Mkdir(name, perm)
	}
	above, err := openFolder(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer func() { _ = above.Close() }() // nothing was written through it
	err = again(func() error { return unix.Mkdirat(int(above.Fd()), filepath.Base(name), uint32(perm.Perm())) })
	if err != nil {
		return &os.PathError{Op: "mkdir", Path: name, Err: err}
	}
	// Another folder may have the name by now. A folder that is not empty is not the new one.
	f, err := openAt(above, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil // it was made, and somebody has taken it away; using it will fail
	}
	defer func() { _ = f.Close() }() // nothing was written through it
	if _, err := f.Readdirnames(1); err == io.EOF {
		give(f, above)
	}
	return nil
}

// give changes the owner of f from root to the owner of the folder above. A failure is harmless if
// only root uses f; anybody else gets an error when they open it.
func give(f, above *os.File) {
	var mine, theirs unix.Stat_t
	if unix.Fstat(int(f.Fd()), &mine) != nil || unix.Fstat(int(above.Fd()), &theirs) != nil {
		return
	}
	if mine.Uid == 0 && theirs.Uid != 0 {
		_ = f.Chown(int(theirs.Uid), int(theirs.Gid))
	}
}

// openFolder opens a folder. A link is followed: the owner that counts is the owner of the folder
// that was opened.
func openFolder(name string) (*os.File, error) {
	return os.OpenFile(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

// openAt opens the last part of name in the folder above.
func openAt(above *os.File, name string, flag int, perm os.FileMode) (*os.File, error) {
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Openat(int(above.Fd()), filepath.Base(name), flag|unix.O_CLOEXEC, uint32(perm.Perm()))
		return err
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// again calls fn until no signal interrupts it.
func again(fn func() error) error {
	for {
		if err := fn(); err != unix.EINTR {
			return err
		}
	}
}
