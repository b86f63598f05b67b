//go:build unix

package owner

import (
	"os"
	"path/filepath"
	"syscall"
)

// inherit gives an empty file, just opened by name, the owner of its folder. A file that has a second name, or that
// name is a link to, stays as it is: whoever owns the folder could have put it there to be given a file of root's.
// Failing is harmless where nobody else uses the file, and told by the system to whoever does.
func inherit(f *os.File, name string) {
	if os.Geteuid() != 0 {
		return
	}
	opened, err := f.Stat()
	if err != nil || opened.Size() != 0 || !opened.Mode().IsRegular() {
		return
	}
	named, err := os.Lstat(name)
	if st, ok := opened.Sys().(*syscall.Stat_t); err != nil || !ok || st.Nlink != 1 || st.Uid != 0 || !os.SameFile(opened, named) {
		return
	}
	give(f, name)
}

// inheritFolder does the same for a folder that was just made.
func inheritFolder(name string) {
	if os.Geteuid() != 0 {
		return
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }() // nothing was written
	give(f, name)
}

// give makes f, which is called name, the property of the owner of its folder.
func give(f *os.File, name string) {
	above, err := os.Stat(filepath.Dir(name))
	if err != nil {
		return
	}
	if st, ok := above.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
		_ = f.Chown(int(st.Uid), int(st.Gid)) // see inherit
	}
}
