package core

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/internal/backup"
	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/folderlock"
	"github.com/rondo-db/rondo/internal/owner"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/wal"
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
func Restore(r io.Reader, dir string) error { return restoreFiles(backup.One(r), dir, false) }

// RestoreReplica does what Restore does, for a store that follows the log of the store that the
// backup was made of: it is opened with Options.Follow, and reads what came since from there. So
// the log must still have the records behind the position of the backup's checkpoint. The store
// belongs to the same log, and refuses another one. If the backup is of a store with its log in its
// folder, the new store may begin a log elsewhere. That backup must hold no records, as one that is
// made after a checkpoint while nobody writes.
func RestoreReplica(r io.Reader, dir string) error { return restoreFiles(backup.One(r), dir, true) }

// RestoreFiles does what Restore does with the files of a backup of everything and of increments,
// each made since the one before it. The error wraps ErrBase, and nothing was read but the first
// bytes of each file, if one of them is missing, not at its place, or of another database.
func RestoreFiles(dir string, names ...string) error {
	return restoreFiles(backup.Named(names), dir, false)
}

// restoreFiles is Restore, or RestoreReplica if replica is true.
func restoreFiles(files []backup.File, dir string, replica bool) error {
	names := append(slices.Clone(backup.BesideFolders), dirLog, fileDB)
	if replica {
		names = []string{fileDB}
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
	lock, err := folderlock.Take(filepath.Join(dir, fileLock), "restore", false)
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
		_ = os.Remove(filepath.Join(dir, fileLock)) // the first error is returned
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
	for _, name := range names { // a backup may have no texts besides
		if _, err := move(filepath.Join(inside, name), filepath.Join(dir, name)); err != nil {
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
		left = append(append(left, dirRestore, dirLog), backup.BesideFolders...)
	}
	for _, e := range entries {
		if !slices.Contains(left, e.Name()) {
			return errors.New("the folder is not empty: name another one, or stop the server on it, move it away, and do it again")
		}
	}
	return nil
}

func removeRestored(dir string) {
	inside := filepath.Join(dir, dirRestore)
	if _, err := os.Lstat(inside); err != nil {
		return
	}
	for _, name := range append(slices.Clone(backup.BesideFolders), dirLog, fileDB) {
		_ = os.RemoveAll(filepath.Join(dir, name)) // what stays is found by the next Restore
		_ = os.RemoveAll(filepath.Join(inside, name))
	}
	_ = os.Remove(filepath.Join(inside, fileWork))
	_ = os.Remove(filepath.Join(inside, fileLock))
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
	var left strings.Builder
	left.WriteString(inside)
	for _, name := range append(slices.Clone(backup.BesideFolders), dirLog) {
		if moved := filepath.Join(dir, name); exists(moved) {
			// The log alone would become a database that lacks what the backup had.
			left.WriteString(" and " + moved)
		}
	}
	return fmt.Errorf("%w: do it again, or remove %s", ErrRestoring, left.String())
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

// locked runs fn while the folder dir, which must have a database, is locked as o says.
func locked(dir string, o *Options, fn func() error) (err error) {
	if err := hasDatabase(dir); err != nil {
		return err
	}
	lock, err := folderlock.Take(filepath.Join(dir, fileLock), o.Owner, o.ReadOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := HalfRestored(dir); err != nil {
		return err
	}
	return fn()
}

// move gives a file or a folder another name, durably. moved is false if nothing has the name from.
func move(from, to string) (moved bool, err error) {
	if err := os.Rename(from, to); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	return true, owner.SyncFolder(filepath.Dir(to))
}

// mustMove is move of what is there.
func mustMove(from, to string) error {
	moved, err := move(from, to)
	if err == nil && !moved {
		err = fmt.Errorf("%s: %w", from, fs.ErrNotExist)
	}
	return err
}

// restoreInto makes a database and a log in the folder dir, which is empty, from a backup and its
// increments. For a replica it makes no log.
func restoreInto(files []backup.File, dir string, replica bool) error {
	db, err := boltfile.Open(filepath.Join(dir, fileDB), boltfile.Options{NoSync: true})
	if err != nil {
		return err
	}
	re := &restorer{db: db, dir: dir, replica: replica}
	err = re.run(files)
	if err == nil {
		err = db.Sync()
	}
	if re.log != nil {
		err = errors.Join(err, re.log.Close())
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	return owner.SyncFolder(dir)
}

// A restorer makes a database and a log of the parts of a backup.
type restorer struct {
	db  *boltfile.File
	log *wal.Log
	dir string
	// pairs, of size bytes, wait to be written.
	pairs [][3][]byte
	size  int
	// Of a replica: the mark of the log that the backup is of, and how far groups may be.
	replica bool
	mark    logMark
	groups  uint64
	// version is put last, so that Open refuses what a crash leaves before that.
	version []byte
}

func (re *restorer) run(files []backup.File) error {
	if err := re.write(); err != nil { // buckets without a version: not a new store
		return err
	}
	if err := backup.Read(context.Background(), files, backupFormat, re); err != nil {
		return err
	}
	return re.end()
}

// write writes the pairs that wait.
func (re *restorer) write() error {
	err := re.db.Update(nil, func(tx *boltfile.Tx) error {
		for _, b := range buckets {
			if _, err := tx.MakeBucket(b); err != nil {
				return err
			}
		}
		for _, p := range re.pairs {
			if err := tx.Bucket(p[0]).Put(p[1], p[2]); err != nil {
				return fmt.Errorf("%w: %w", backup.ErrPart, err)
			}
		}
		return nil
	}, nil)
	re.pairs, re.size = re.pairs[:0], 0
	return err
}

func (re *restorer) Pair(parts [3][]byte, keep bool) error {
	if !keep {
		return nil
	}
	if bytes.Equal(parts[0], bucketMeta) {
		if kept, err := re.meta(parts[1], parts[2]); kept || err != nil {
			return err
		}
	}
	re.pairs = append(re.pairs, parts)
	if re.size += len(parts[1]) + len(parts[2]); re.size > txBytes {
		return re.write()
	}
	return nil
}

// meta takes a pair of the bucket meta that is put at the end or not at all.
func (re *restorer) meta(key, v []byte) (taken bool, err error) {
	switch {
	case bytes.Equal(key, metaVersion):
		re.version = v
		return true, nil
	case bytes.Equal(key, metaStore): // this is another store
		return true, nil
	case bytes.Equal(key, metaLog) && !re.replica: // with a log of its own
		return true, nil
	case !bytes.Equal(key, metaLog) && (!re.replica || !bytes.Equal(key, metaGroups)):
		return false, nil
	}
	b, err := record.CutSum(v, bucketMeta, key)
	if err == nil && bytes.Equal(key, metaLog) {
		re.mark, err = parseLogMark(b)
	} else if err == nil && len(b) != 8 {
		err = record.ErrParse
	} else if err == nil {
		re.groups = max(re.groups, binary.BigEndian.Uint64(b))
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", backup.ErrPart, err)
	}
	return true, err
}

// put adds a value of the bucket meta to the pairs that wait.
func (re *restorer) put(key, v []byte) {
	re.pairs = append(re.pairs, [3][]byte{bucketMeta, key, record.AppendSum(v, bucketMeta, key)})
}

// Record puts a record into the log. A replica finds it in its own.
func (re *restorer) Record(p wal.Pos, rec []byte, keep bool) error {
	if !keep {
		return nil
	}
	if re.replica {
		if re.mark.last != logElsewhere {
			return invalid("the backup holds records that no log elsewhere has")
		}
		re.groups = max(re.groups, uint64(p)) // a group may have been copied at any of them
		return nil
	}
	if re.log == nil {
		if err := re.openLog(p - 1); err != nil {
			return err
		}
	}
	got, err := re.log.Enqueue(rec)
	if err != nil {
		return err
	}
	if got != p {
		return fmt.Errorf("log record %d where %d belongs: %w", p, got, backup.ErrPart)
	}
	return nil
}

// openLog makes a log that begins behind a position.
func (re *restorer) openLog(after wal.Pos) (err error) {
	re.log, err = wal.Open(filepath.Join(re.dir, dirLog), wal.Options{After: after, SegmentBytes: segmentBytes})
	return err
}

// end completes the log and the database.
func (re *restorer) end() error {
	if re.version == nil {
		return fmt.Errorf("no version: %w", backup.ErrPart)
	}
	if err := re.endLog(); err != nil {
		return err
	}
	re.put(metaLog, re.mark.append(nil))
	id := backup.NewID()
	re.put(metaStore, id[:])
	if err := re.write(); err != nil { // what came before the version, durably
		return err
	}
	if err := re.db.Sync(); err != nil {
		return err
	}
	re.pairs = append(re.pairs, [3][]byte{bucketMeta, metaVersion, re.version})
	return re.write()
}

// endLog makes the log durable and takes its mark.
func (re *restorer) endLog() error {
	if re.replica {
		if re.mark.last != logElsewhere {
			re.mark = logMark{last: logElsewhere}
		}
		re.put(metaGroups, binary.BigEndian.AppendUint64(nil, re.groups))
		return nil
	}
	if re.log == nil {
		if err := re.openLog(0); err != nil {
			return err
		}
	}
	if _, err := re.log.Barrier(context.Background()); err != nil {
		return err
	}
	re.mark = logMark{re.log.ID(), re.log.Last()}
	return nil
}

// Beside writes a text into the folder that is restored.
func (re *restorer) Beside(name string, content []byte, keep bool) error {
	if !keep || re.replica {
		return nil
	}
	name = filepath.Join(re.dir, filepath.FromSlash(name))
	if err := owner.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := owner.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close(), owner.SyncFolder(filepath.Dir(name)))
}
