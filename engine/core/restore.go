package core

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/rondo-db/rondo/internal/owner"
)

// dirRestore is where Restore works, inside of the folder that it restores into. When all of it is
// there and on the disk, the log moves out of it, then the database, and it is removed. So a folder
// with it and without a database is one whose restore was ended half-way: Open refuses it, and
// another Restore begins anew.
const dirRestore = "restoring"

// Restore makes the folder dir from what Backup wrote. dir must be absent or empty, or hold what a
// Restore left that was killed. After an error what was written is removed. The backup is checked
// whole before Restore returns nil. The error wraps ErrLocked if another process restores into dir
// or has it open.
func Restore(r io.Reader, dir string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("restore into %s: %w", dir, err)
		}
	}()
	_, err = os.Lstat(dir)
	made := os.IsNotExist(err)
	if err := checkEmpty(dir); err != nil {
		return err
	}
	if err := makeFolder(dir); err != nil {
		return err
	}
	lock, err := lockFolder(filepath.Join(dir, fileLock), Options{Owner: "restore"})
	if err != nil {
		return err
	}
	// Again: another Restore may just have come to its end.
	if err = checkEmpty(dir); err == nil {
		err = restore(r, dir)
	}
	if err != nil {
		removeRestored(dir)
		err = errors.Join(err, lock.Close())
		_ = os.Remove(filepath.Join(dir, fileLock)) // the first error is the one to tell
		if made {
			_ = os.Remove(dir)
		}
		return err
	}
	return lock.Close()
}

func restore(r io.Reader, dir string) error {
	removeRestored(dir)
	inside := filepath.Join(dir, dirRestore)
	if err := owner.Mkdir(inside, 0o700); err != nil {
		return err
	}
	if err := syncFolder(dir); err != nil {
		return err
	}
	if err := restoreInto(r, inside); err != nil {
		return err
	}
	for _, name := range []string{dirLog, fileDB} {
		if err := os.Rename(filepath.Join(inside, name), filepath.Join(dir, name)); err != nil {
			return err
		}
		if err := syncFolder(dir); err != nil {
			return err
		}
	}
	if err := os.Remove(inside); err != nil {
		return err
	}
	return syncFolder(dir)
}

// checkEmpty refuses a folder that holds more than what a Restore left that was killed.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	left := []string{fileLock}
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == dirRestore }) {
		left = append(left, dirRestore, dirLog)
	}
	for _, e := range entries {
		if !slices.Contains(left, e.Name()) {
			return errors.New("the folder is not empty")
		}
	}
	return nil
}

// removeRestored removes what restore makes.
func removeRestored(dir string) {
	inside := filepath.Join(dir, dirRestore)
	if _, err := os.Lstat(inside); err != nil {
		return
	}
	for _, name := range []string{filepath.Join(dir, dirLog), filepath.Join(dir, fileDB), filepath.Join(inside, dirLog), filepath.Join(inside, fileDB)} {
		_ = os.RemoveAll(name) // what stays is found by the next Restore
	}
	_ = os.Remove(inside) // if somebody put more into it, it is theirs
}

// finishRestore refuses a folder whose Restore was ended half-way, and removes what is left of one
// that was all but through.
func finishRestore(dir string) error {
	inside := filepath.Join(dir, dirRestore)
	if _, err := os.Lstat(inside); err != nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, fileDB)); err == nil {
		_ = os.Remove(inside) // it is empty, or not ours
		return nil
	}
	return fmt.Errorf("a restore of a backup into it was ended half-way: restore it again, or remove %s", inside)
}
