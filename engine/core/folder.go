package core

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
)

// errForeign says that a folder holds other things than a database.
var errForeign = errors.New("the folder holds other files and no database, and none is made among them: name a folder that is empty, or not there yet")

// checkForeign refuses a folder that holds files and no part of a database, because a mistyped name
// would scatter the files of a new database among them. Hidden files, sockets and a file system's
// lost+found do not count.
func checkForeign(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	foreign := false
	for _, e := range entries {
		switch name := e.Name(); {
		case name == fileDB, name == dirLog, name == dirRestore, name == dirCopying, name == dirRepair:
			return nil
		case name == fileLock, strings.HasPrefix(name, "rondo."), strings.HasPrefix(name, "."), name == "lost+found", e.Type()&fs.ModeSocket != 0:
		default:
			foreign = true
		}
	}
	if foreign {
		return errForeign
	}
	return nil
}

// removeLeft removes what a crash leaves of a backup, of a compaction and of a repair. A failure
// only costs space.
func removeLeft(dir string) {
	for _, name := range []string{fileSpool, fileDB + boltfile.CompactSuffix} {
		_ = os.Remove(filepath.Join(dir, name))
	}
	for _, name := range []string{dirCopying, dirRepair} { // not needed: see HalfRestored
		_ = os.RemoveAll(filepath.Join(dir, name))
	}
}

// asideName returns the name that the damaged file or folder name is renamed to. No file has it.
func asideName(name string) string {
	for i := 1; ; i++ {
		aside := fmt.Sprintf("%s.damaged-%d", name, i)
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			return aside
		}
	}
}
