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

// dirRestore is the folder in which Restore and Salvage work, inside of the folder that it restores
// into. When everything is there and durable, Restore moves the log out of it, then the database,
// and removes it. So a folder that has dirRestore and no database is left from a restore that was
// ended half-way. All that opens a folder refuses it by HalfRestored, and another Restore begins
// anew.
const dirRestore = "restoring"

// Restore makes the folder dir from a backup. dir must be absent or empty, or hold what a killed
// Restore left. After an error Restore removes what it wrote. It returns nil only after it has
// checked the whole backup. The error wraps ErrLocked if another process restores into dir or has
// it open.
func Restore(r io.Reader, dir string) error { return restoreFiles(oneBackup(r), dir, false) }

// RestoreReplica does what Restore does, for a store that follows the log of the store that the
// backup was made of: it is opened with Options.Follow, and reads what came since from there. So
// the log must still have the records behind the position of the backup's checkpoint. The store
// belongs to the same log, and refuses another one. If the backup is of a store with its log in its
// folder, the new store may begin a log elsewhere. That backup must hold no records, as one that is
// made after a checkpoint while nobody writes.
func RestoreReplica(r io.Reader, dir string) error { return restoreFiles(oneBackup(r), dir, true) }

// RestoreFiles does what Restore does with the files of a backup of everything and of increments,
// each made since the one before it. The error wraps ErrBase, and nothing was read but the first
// bytes of each file, if one of them is missing, not at its place, or of another database.
func RestoreFiles(dir string, names ...string) error {
	return restoreFiles(namedBackups(names), dir, false)
}

// restoreFiles is Restore, or RestoreReplica if replica is true.
func restoreFiles(files []backupFile, dir string, replica bool) error {
	names := []string{dirLog, fileDB}
	if replica {
		names = names[1:]
	}
	err := fillFolder(dir, names, func(inside string) error { return restoreInto(files, inside, replica) })
	if err != nil {
		err = fmt.Errorf("restore into %s: %w", dir, err)
	}
	return err
}

// fillFolder makes the folder dir a database: fill makes the files or folders of names in the
// folder inside, in which nothing else is left then, and they move to dir when all are durable.
func fillFolder(dir string, names []string, fill func(inside string) error) error {
	_, err := os.Lstat(dir)
	made := os.IsNotExist(err)
	if err := checkEmpty(dir); err != nil {
		return err
	}
	if err := owner.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	lock, err := lockFolder(filepath.Join(dir, fileLock), Options{Owner: "restore"})
	if err != nil {
		return err
	}
	// Check again: another call may just have ended.
	if err = checkEmpty(dir); err == nil {
		err = fillLocked(dir, names, fill)
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

func fillLocked(dir string, names []string, fill func(inside string) error) error {
	removeRestored(dir)
	inside := filepath.Join(dir, dirRestore)
	if err := owner.Mkdir(inside, 0o700); err != nil {
		return err
	}
	if err := owner.SyncFolder(dir); err != nil {
		return err
	}
	if err := fill(inside); err != nil {
		return err
	}
	for _, name := range names {
		if err := os.Rename(filepath.Join(inside, name), filepath.Join(dir, name)); err != nil {
			return err
		}
		if err := owner.SyncFolder(dir); err != nil {
			return err
		}
	}
	if err := os.Remove(inside); err != nil {
		return err
	}
	return owner.SyncFolder(dir)
}

// checkEmpty refuses a folder that holds anything but what a killed Restore left.
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
	for _, name := range []string{filepath.Join(dir, dirLog), filepath.Join(dir, fileDB), filepath.Join(inside, dirLog), filepath.Join(inside, fileDB), filepath.Join(inside, fileWork), filepath.Join(inside, fileLock)} {
		_ = os.RemoveAll(name) // what stays is found by the next Restore
	}
	_ = os.Remove(inside) // fails if it holds files of somebody else
}

// ErrRestoring says that a Restore or a Salvage into a folder, or a Repair of it, was ended
// half-way.
var ErrRestoring = errors.New("a restore or a salvage into it was ended half-way")

// HalfRestored returns an error that wraps [ErrRestoring], and says what to do, if a Restore into
// the folder dir was ended half-way, and so for a Salvage or a Repair. One that is under way looks
// the same, and holds the lock.
func HalfRestored(dir string) error {
	if exists(filepath.Join(dir, dirRepair, fileDB)) && !exists(filepath.Join(dir, fileDB)) {
		return fmt.Errorf("%w: rondo check --repair ends it", ErrRestoring)
	}
	inside := filepath.Join(dir, dirRestore)
	if _, err := os.Lstat(inside); err != nil {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(dir, fileDB)); err == nil {
		return nil // all was moved
	}
	left := inside
	if moved := filepath.Join(dir, dirLog); exists(moved) {
		left += " and " + moved // the log alone would become a database that lacks what the backup had
	}
	return fmt.Errorf("%w: do it again, or remove %s", ErrRestoring, left)
}

// exists reports whether there is a file or a folder of a name.
func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// hasDatabase returns an error if the folder dir has no database, and none in a Restore or a
// Repair. Who has locked the folder asks HalfRestored then.
func hasDatabase(dir string) error {
	_, err := os.Stat(filepath.Join(dir, fileDB))
	if err != nil && (exists(filepath.Join(dir, dirRestore)) || exists(filepath.Join(dir, dirRepair))) {
		return nil
	}
	return err
}
