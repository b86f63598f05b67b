package core

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rondo-db/rondo/engine/internal/backup"
	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/labelindex"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/record"
)

// The files of a store's folder.
const (
	fileDB   = "rondo.bolt"
	fileLock = "LOCK"
	dirLog   = "wal"
)

// The names of the buckets, and the keys of the bucket meta, are part of the format.
var (
	bucketMeta     = []byte("meta")
	bucketClasses  = []byte("classes")
	bucketDefs     = []byte("defs")
	bucketNames    = []byte("names")
	bucketSeries   = []byte("series")
	bucketLabels   = labelindex.Bucket
	bucketState    = []byte("state")
	bucketRows     = rowblock.Bucket
	bucketNotes    = []byte("notes")
	bucketMetadata = []byte("metadata")

	buckets = [][]byte{
		bucketMeta, bucketClasses, bucketDefs, bucketNames, bucketSeries,
		bucketLabels, bucketState, bucketRows, bucketNotes, bucketMetadata,
	}

	metaVersion   = []byte("version")   // uint32
	metaCatalogue = []byte("catalogue") // log position of catalogue, notes and settings
	metaGroups    = []byte("groups")    // highest log position of any group
	metaCount     = []byte("count")     // series
	metaMetadata  = []byte("metadata")  // paths with metadata
	metaReorder   = []byte("reorder")   // reorder window at the catalogue's position, microseconds
	metaSessions  = []byte("sessions")  // the numbers that were applied; missing: none was
	metaStore     = []byte("store")     // backup.ID: the name of the store

	metaNumbers = [][]byte{metaCatalogue, metaGroups, metaCount, metaMetadata, metaReorder}
)

// formatVersion is the version of the database that this program writes and reads.
const formatVersion = 10

// otherFormat returns the error of a database whose version v is not the one that this program
// reads.
func otherFormat(v []byte) error {
	n, is := fmt.Sprintf("%x", v), ErrNewer
	if len(v) == 4 {
		number := binary.BigEndian.Uint32(v)
		n, is = fmt.Sprint(number), record.OtherVersion(uint64(number), formatVersion)
	}
	return fmt.Errorf("it has format %s, this program reads format %d: %w", n, formatVersion, is)
}

// openVersion opens the database, after making it if it is missing (madeAnew), and checks its
// version.
func (s *Store) openVersion() (madeAnew bool, err error) {
	name := filepath.Join(s.dir, fileDB)
	o := boltfile.Options{ReadOnly: s.options.ReadOnly, Logger: s.options.Logger, Damage: &s.damage, Fault: s.options.fault}
	if !s.options.ReadOnly {
		if _, err = os.Stat(name); errors.Is(err, os.ErrNotExist) {
			err = s.createDatabase(name, o)
			madeAnew = err == nil
		}
		if err != nil {
			return madeAnew, err
		}
	}
	if s.db, err = boltfile.Open(name, o); err != nil {
		return madeAnew, err
	}
	return madeAnew, s.db.View(bucketMeta, func(tx *boltfile.Tx) error {
		meta := tx.Bucket(bucketMeta)
		if meta == nil {
			return &DamageError{Bucket: string(bucketMeta), Err: damage.ErrMissing}
		}
		v := meta.Get(metaVersion)
		if len(v) == 4 && binary.BigEndian.Uint32(v) < formatVersion { // formats without checksums
			return otherFormat(v)
		}
		v, err := tx.Get(bucketMeta, metaVersion)
		switch {
		case err != nil:
			return err
		case v == nil:
			return &DamageError{Bucket: string(bucketMeta), Key: metaVersion, Err: damage.ErrMissing}
		case !bytes.Equal(v, binary.BigEndian.AppendUint32(nil, formatVersion)):
			return otherFormat(v)
		}
		for _, b := range buckets {
			if tx.Bucket(b) == nil {
				return &DamageError{Bucket: string(b), Err: damage.ErrMissing}
			}
		}
		return nil
	})
}

// createDatabase makes an empty database. The file gets its name when it is complete and durable,
// so that a loss of power leaves a whole database or none.
func (s *Store) createDatabase(name string, o boltfile.Options) error {
	fresh := name + ".new"
	if err := removeIf(fresh); err != nil {
		return err
	}
	d, err := boltfile.Open(fresh, o)
	if err != nil {
		return err
	}
	log, err := s.makeLog()
	if err == nil {
		err = d.Update(nil, func(tx *boltfile.Tx) error {
			return makeBuckets(tx, log)
		}, nil)
	}
	if err = errors.Join(err, d.Close()); err != nil {
		return err
	}
	if err := d.Ask("rename"); err != nil {
		return err
	}
	return mustMove(fresh, name)
}

// makeBuckets makes the buckets of an empty store whose log has the mark log.
func makeBuckets(tx *boltfile.Tx, log logMark) error {
	for _, b := range buckets {
		if _, err := tx.MakeBucket(b); err != nil {
			return err
		}
	}
	if err := putMark(tx, log); err != nil {
		return err
	}
	for _, key := range metaNumbers {
		if err := putNumber(tx, key, 0); err != nil {
			return err
		}
	}
	if err := putStoreID(tx); err != nil {
		return err
	}
	return tx.Put(bucketMeta, metaVersion, binary.BigEndian.AppendUint32(nil, formatVersion))
}

// putStoreID gives the store a new name. The name says that the store's log positions are its own:
// who has seen the store at a position knows what lies at or below it. Restore, Repair and Salvage
// give a store a new name, because positions come again then, or other blocks stand at them.
func putStoreID(tx *boltfile.Tx) error {
	id := backup.NewID()
	return tx.Put(bucketMeta, metaStore, id[:])
}

// readStoreID returns the name of the store. The error is a *DamageError.
func readStoreID(tx *boltfile.Tx) (id backup.ID, err error) {
	v, err := metaValue(tx, metaStore, len(id))
	if err != nil {
		return id, err
	}
	return backup.ID(v), nil
}

// Identity returns a name of the database, drawn at random, that no other database has. A database
// that was restored or repaired has another one than before. The error is a *DamageError.
func (s *Store) Identity() (string, error) {
	var id backup.ID
	err := s.db.View(bucketMeta, func(tx *boltfile.Tx) (err error) {
		id, err = readStoreID(tx)
		return err
	})
	return hex.EncodeToString(id[:]), err
}

// Compact needs room on the disk for all entries of the database once more, compactMargin of that
// for pages that are not full, and compactSpare bytes that it leaves to others.
const (
	compactMargin = 0.1
	compactSpare  = 64 << 20
)

// ErrNoRoom says that the disk has too little space for a second copy of the database.
var ErrNoRoom = errors.New("the disk has too little space")

// A Compacted says what Compact has done. Before and After are the bytes of the database's file.
type Compacted struct {
	Before, After int64
	Took          time.Duration
}

// Compact gives free pages of the database's file in the folder dir back to the file system, which
// the database itself only uses again. It copies the database into a second file,
// rondo.bolt.compacting, which then takes the place of the first. A store that is opened for a
// server does so by itself if more than half of the file is free.
//
// The error wraps ErrLocked if another process has the database open, ErrNoRoom if the disk has too
// little space for both files, and ErrDamaged if a page cannot be read. After an error the database
// is as it was.
func Compact(ctx context.Context, dir string, o Options) (done Compacted, err error) {
	s := newStore(dir, o)
	err = locked(dir, &s.options, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, err := boltfile.Open(filepath.Join(dir, fileDB), boltfile.Options{ReadOnly: true, Logger: s.options.Logger, Fault: s.options.fault})
		if err != nil {
			return databaseError(err)
		}
		size, free := f.Size()
		if err := f.Close(); err != nil {
			return err
		}
		done, err = s.compact(size, free)
		return err
	})
	return done, err
}

// compact makes the database's file of size bytes, which nobody has open, smaller.
func (s *Store) compact(size, free int64) (done Compacted, err error) {
	begun := time.Now()
	if err = s.checkRoom(size - free); err == nil {
		o := boltfile.Options{Logger: s.options.Logger, Damage: &s.damage, Fault: s.options.fault}
		done.Before, done.After, err = boltfile.Compact(filepath.Join(s.dir, fileDB), o, s.failpoint)
	}
	done.Took = time.Since(begun)
	if err != nil {
		return done, fmt.Errorf("compact: %w", err)
	}
	s.failpoint("compact-end")
	s.options.Logger.Info("the database was compacted", "before", done.Before, "after", done.After, "took", done.Took.Round(time.Millisecond))
	return done, nil
}

// compactAtStart compacts a database that was just opened, and opens it again, if more than half of
// its file is free. A failure costs space only.
func (s *Store) compactAtStart() error {
	size, free := s.db.Size()
	if s.options.ReadOnly || s.options.NoBackground || free < s.options.compactFrom || free <= size/2 {
		return nil
	}
	if err := s.db.Close(); err != nil {
		return err
	}
	if _, err := s.compact(size, free); err != nil {
		s.options.Logger.Warn("more than half of the database's file is free, and it could not be compacted", "err", err)
	}
	_, err := s.openVersion()
	return err
}

// room returns the free bytes of the disk.
func (s *Store) room() (int64, error) {
	if s.options.room != nil {
		return s.options.room()
	}
	return boltfile.Room(s.dir)
}

// checkRoom refuses a disk that has no room for a second copy of used bytes.
func (s *Store) checkRoom(used int64) error {
	need := int64(float64(used)*(1+compactMargin)) + compactSpare
	room, err := s.room()
	if err != nil {
		return err
	}
	if room < need {
		return fmt.Errorf("%w: %d MiB are free, and a second copy of the database needs up to %d MiB beside the first", ErrNoRoom, room>>20, (need+1<<20-1)>>20)
	}
	return nil
}
