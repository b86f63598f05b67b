package core

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/internal/owner"
	"github.com/rondo-db/rondo/wal"
)

// restoreInto makes a database and a log in the folder dir, which is empty, from a backup and its
// increments. For a replica it makes no log.
func restoreInto(files []backupFile, dir string, replica bool) error {
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
	mark    wal.Mark
	groups  uint64
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
	if re.replica && bytes.Equal(parts[0], bucketMeta) {
		if kept, err := re.keepLog(parts); kept || err != nil {
			return err
		}
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

// keepLog takes a pair that says of which log a replica is, and how far. Such pairs are put at the
// end.
func (re *restorer) keepLog(parts [3][]byte) (kept bool, err error) {
	log, groups := bytes.Equal(parts[1], metaLog), bytes.Equal(parts[1], metaGroups)
	if !log && !groups {
		return false, nil
	}
	v, err := record.CutSum(parts[2], bucketMeta, parts[1])
	if log && err == nil {
		err = re.mark.UnmarshalBinary(v)
	}
	if groups && err == nil && len(v) != 8 {
		err = record.ErrParse
	}
	if err != nil {
		return true, fmt.Errorf("%w: %w", errBackup, err)
	}
	if groups {
		re.groups = max(re.groups, binary.BigEndian.Uint64(v))
	}
	return true, nil
}

// record puts a record into the log. A replica finds it in its own.
func (re *restorer) record(p wal.Pos, rec []byte, keep bool) error {
	if !keep {
		return nil
	}
	if re.replica {
		if re.mark.Segment != logElsewhere {
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
	if err := re.endLog(); err != nil {
		return err
	}
	mark, err := re.mark.AppendBinary(nil)
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

// endLog makes the log durable and takes its mark.
func (re *restorer) endLog() error {
	if re.replica {
		if re.mark.Segment != logElsewhere {
			re.mark = wal.Mark{Segment: logElsewhere}
		}
		groups := binary.BigEndian.AppendUint64(nil, re.groups)
		re.pairs = append(re.pairs, [3][]byte{bucketMeta, metaGroups, record.AppendSum(groups, bucketMeta, metaGroups)})
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
	re.mark = re.log.Mark()
	return nil
}
