package core

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// restoreInto makes a database and a log in the folder dir, which is empty, from a backup and its
// increments.
func restoreInto(files []backupFile, dir string) error {
	db, err := boltfile.Open(filepath.Join(dir, fileDB), boltfile.Options{NoSync: true})
	if err != nil {
		return err
	}
	re := &restorer{db: db, dir: dir}
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
	return syncFolder(dir)
}

// A restorer makes a database and a log of the parts of a backup.
type restorer struct {
	db  *boltfile.File
	log *wal.Log
	dir string
	// pairs, of size bytes, wait to be written.
	pairs [][3][]byte
	size  int
	// version is put last, so that Open refuses what a crash leaves before that.
	version []byte
}

// run reads the backups.
func (re *restorer) run(files []backupFile) error {
	if err := re.write(); err != nil { // buckets without a version: not a new store
		return err
	}
	if err := readBackups(context.Background(), files, re); err != nil {
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
				return fmt.Errorf("%w: %w", errBackup, err)
			}
		}
		return nil
	}, nil)
	re.pairs, re.size = re.pairs[:0], 0
	return err
}

// pair takes a pair.
func (re *restorer) pair(parts [3][]byte, keep bool) error {
	if !keep {
		return nil
	}
	if bytes.Equal(parts[0], bucketMeta) && bytes.Equal(parts[1], metaVersion) {
		re.version = parts[2]
		return nil
	}
	if bytes.Equal(parts[0], bucketMeta) && (bytes.Equal(parts[1], metaLog) || bytes.Equal(parts[1], metaStore)) {
		return nil // of the store that was backed up: this is another one, with a log of its own
	}
	re.pairs = append(re.pairs, parts)
	if re.size += len(parts[1]) + len(parts[2]); re.size > txBytes {
		return re.write()
	}
	return nil
}

// record puts a record into the log.
func (re *restorer) record(p wal.Pos, rec []byte, keep bool) error {
	if !keep {
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
		return fmt.Errorf("log record %d where %d belongs: %w", p, got, errBackup)
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
		return fmt.Errorf("no version: %w", errBackup)
	}
	if re.log == nil {
		if err := re.openLog(0); err != nil {
			return err
		}
	}
	if _, err := re.log.Barrier(context.Background()); err != nil {
		return err
	}
	mark, err := re.log.Mark().AppendBinary(nil)
	if err != nil {
		return err
	}
	re.pairs = append(re.pairs, [3][]byte{bucketMeta, metaLog, record.AppendSum(mark, bucketMeta, metaLog)})
	id := newBackupID()
	re.pairs = append(re.pairs, [3][]byte{bucketMeta, metaStore, record.AppendSum(id[:], bucketMeta, metaStore)})
	if err := re.write(); err != nil { // what came before the version, durably
		return err
	}
	if err := re.db.Sync(); err != nil {
		return err
	}
	re.pairs = append(re.pairs, [3][]byte{bucketMeta, metaVersion, re.version})
	return re.write()
}
