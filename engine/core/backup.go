package core

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rondo-db/rondo/engine/internal/backup"
	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// Backup writes a consistent copy of the store to w, as a zstd stream. The copy includes everything
// that was acknowledged before the call. Appends and checkpoints go on meanwhile. A slow reader of
// w costs space of the log, not memory.
func (s *Store) Backup(ctx context.Context, w io.Writer) error { return s.BackupSince(ctx, w, nil) }

// BackupSince writes what has changed since the backup with the head base, as Backup does. It
// restores only together with that backup and those which that builds on. A nil base makes a backup
// of everything. The error wraps ErrBase if base is of another store, or of a later state of this
// one: that was restored, repaired or put back from a copy meanwhile.
func (s *Store) BackupSince(ctx context.Context, w io.Writer, base *BackupHead) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	var since *backup.Head
	if base != nil {
		since = &base.head
	}
	b, err := backup.NewWriter(w, since)
	if err != nil {
		return err
	}
	if err = s.backup(ctx, b); err == nil {
		err = b.End()
	} else {
		_ = b.Close() // the first error is returned
	}
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

func (s *Store) backup(ctx context.Context, b *backup.Writer) error {
	if err := s.checkBase(b.Base); err != nil {
		return err
	}
	if !s.options.ReadOnly {
		err := s.checkpoints.run(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // what it would have written is in the log
			s.options.Logger.Warn("no checkpoint before the backup, which holds more of the log therefore", "err", err)
		}
	}
	held, head, err := s.spoolCatalogue()
	if err != nil {
		return err
	}
	defer s.checkpoints.unpin()
	defer held.Close()
	s.failpoint("backup-catalogue")
	if err := b.Head(head, formatVersion); err != nil {
		return err
	}
	if err := s.backupBeside(ctx, b); err != nil {
		return err
	}
	if err := held.CopyTo(b); err != nil {
		return err
	}
	for _, c := range *s.catalogue.classes.Load() {
		for _, g := range *c.groups.Load() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := s.backupGroup(b, g); err != nil {
				return err
			}
		}
	}
	s.failpoint("backup-groups")
	return s.backupLog(ctx, b, head.To)
}

// checkBase refuses a base that is not of this store, or not of its past.
func (s *Store) checkBase(base *backup.Head) error {
	if base == nil {
		return nil
	}
	return s.db.View(bucketMeta, func(tx *boltfile.Tx) error {
		id, err := readStoreID(tx)
		if err != nil {
			return err
		}
		if id != base.Store {
			return fmt.Errorf("the base is a backup of another database, or of this one before it was restored or repaired: %w", ErrBase)
		}
		return nil
	})
}

// spoolCatalogue copies the catalogue out of the database in one short transaction. It returns the
// head of a backup that begins with it, and pins the log behind its position.
func (s *Store) spoolCatalogue() (*backup.Spool, *backup.Head, error) {
	out := backup.NewSpool(s.dir)
	head := &backup.Head{ID: backup.NewID()}
	s.checkpoints.mu.Lock()
	defer s.checkpoints.mu.Unlock()
	err := s.db.View(nil, func(tx *boltfile.Tx) (err error) {
		if head.Store, err = readStoreID(tx); err != nil {
			return err
		}
		p, err := metaNumber(tx, metaCatalogue)
		if err != nil {
			return err
		}
		head.To = wal.Pos(p)
		var buf []byte
		for _, name := range backupFormat.Catalogue {
			for k, v := range tx.Each(name) {
				if _, err := boltfile.OpenValue(name, k, v); err != nil {
					return err
				}
				buf = backup.AppendPair(buf[:0], name, k, v)
				if _, err := out.Write(buf); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		out.Close()
		return nil, nil, err
	}
	s.checkpoints.pin(head.To)
	return out, head, nil
}

// backupGroup copies what the database holds of one group, and has changed since the base.
func (s *Store) backupGroup(b *backup.Writer, g *group) error {
	buf := b.Buf[:0]
	err := s.db.View(bucketRows, func(tx *boltfile.Tx) error {
		v := tx.Bucket(bucketState).Get(g.stateKey())
		if v == nil {
			return nil
		}
		id := groupID{Class: g.c.id, Number: g.id}
		if b.Base != nil {
			body, err := boltfile.OpenValue(bucketState, g.stateKey(), v)
			if err != nil {
				return err
			}
			if pos := statePos(body); pos <= b.Base.To {
				buf = backup.AppendSame(buf, id, pos)
				return nil
			}
		}
		copied := &group{c: g.c, id: g.id}
		defer copied.unload()
		if err := copied.decodeState(v); err != nil {
			return fmt.Errorf("state of group %d of class %d: %w", g.id, g.c.id, err)
		}
		buf = backup.AppendGroup(buf, id, copied.pos, copied.dir)
		buf = backup.AppendPair(buf, bucketState, g.stateKey(), v)
		var err error
		buf, err = s.backupRows(buf, tx, g, copied.dir, b.Base)
		return err
	})
	b.Buf = buf
	if err != nil || len(buf) == 0 {
		return err
	}
	_, err = b.Write(buf)
	return err
}

// backupRows appends the blocks that a directory names, of slots that have changed since the base.
func (s *Store) backupRows(buf []byte, tx *boltfile.Tx, g *group, dir *rowblock.Directory, base *backup.Head) ([]byte, error) {
	rows := tx.Bucket(bucketRows)
	for st, entries := range dir.Slots {
		for _, e := range entries {
			if base != nil && wal.Pos(e.Pos) <= base.To {
				continue
			}
			for sub := e.Lo; sub < e.Hi; sub++ {
				k := rowblock.Key(nil, g.c.id, st, e.Slot, sub, g.id)
				v := rows.Get(k)
				column, err := rowblock.Sound(k, v)
				if v == nil {
					err = damage.ErrMissing
				}
				if err != nil {
					return buf, s.loader.damagedRows(tx, g, st, e.Slot, sub, column, err)
				}
				buf = backup.AppendPair(buf, bucketRows, k, v)
			}
		}
	}
	return buf, nil
}

// backupLog copies the log behind position pos.
func (s *Store) backupLog(ctx context.Context, b *backup.Writer, pos wal.Pos) error {
	log := s.log.get()
	if log.Last() <= pos {
		return nil
	}
	return log.Replay(pos+1, func(p wal.Pos, rec []byte) error {
		return errors.Join(b.Record(p, rec), ctx.Err())
	})
}

// backupBeside writes the texts of Options.Beside.
func (s *Store) backupBeside(ctx context.Context, b *backup.Writer) error {
	if s.options.Beside == nil {
		return nil
	}
	last := ""
	return s.options.Beside(func(name string, content []byte) error {
		if !backup.IsBeside(name) || name <= last || len(content) > backup.MaxBeside {
			return invalid("a text of %d bytes with the name %q behind %q cannot be in a backup", len(content), name, last)
		}
		last = name
		return errors.Join(ctx.Err(), b.Beside(name, content))
	})
}

// backupFormat is what package backup has to know of the database.
var backupFormat = &backup.Format{
	Version:   formatVersion,
	Catalogue: [][]byte{bucketMeta, bucketClasses, bucketDefs, bucketNames, bucketSeries, bucketLabels, bucketNotes, bucketMetadata},
	State:     bucketState,
}

// ErrBase says that a backup cannot be the base of an increment: it is of another database, or of a
// later time, or it does not precede the increment.
var ErrBase = backup.ErrBase

// A BackupHead names a backup, the store that it was made of, and how far it reaches. Whoever has
// it can make a backup of what changed since, without the backup itself.
type BackupHead struct{ head backup.Head }

// Full says whether the backup holds everything, so that it restores without another one.
func (h *BackupHead) Full() bool { return h.head.Full() }

// AppendBinary appends the head as a backup has it. It does not fail.
func (h *BackupHead) AppendBinary(dst []byte) ([]byte, error) {
	return h.head.Append(dst, formatVersion), nil
}

// UnmarshalBinary is the inverse of AppendBinary. The error matches ErrInvalid, or ErrVersion where
// the backup is of another format.
func (h *BackupHead) UnmarshalBinary(b []byte) error {
	err := h.head.Parse(b, formatVersion)
	if errors.Is(err, record.ErrParse) {
		return asInvalid(err)
	}
	return err
}

// ReadBackupHead reads the beginning of a backup. The caller may stop reading r then.
func ReadBackupHead(r io.Reader) (*BackupHead, error) {
	head, err := backup.ReadHead(r, backupFormat)
	if err != nil {
		return nil, fmt.Errorf("read the head of a backup: %w", err)
	}
	return &BackupHead{*head}, nil
}

// A BackupContent is what VerifyBackup has found in a backup.
type BackupContent struct {
	Entries int64 // entries of the database
	Beside  int64 // texts besides it
	Records int64 // records of the log
	Bytes   int64 // of entries and records, before compression
}

// VerifyBackup reads a whole backup, as Restore does, and writes nothing. It checks the sum of the
// backup and the checksum of every entry of the database in it. An error means that Restore would
// fail, or that the restored database would be damaged.
func VerifyBackup(ctx context.Context, r io.Reader) (got BackupContent, err error) {
	return verifyBackups(ctx, backup.One(r))
}

// VerifyBackups does the same with the files of a backup and its increments, as RestoreFiles reads
// them. It counts what all of them hold.
func VerifyBackups(ctx context.Context, names ...string) (got BackupContent, err error) {
	return verifyBackups(ctx, backup.Named(names))
}

func verifyBackups(ctx context.Context, files []backup.File) (BackupContent, error) {
	v := new(verifier)
	err := backup.Read(ctx, files, backupFormat, v)
	if err == nil && !v.version {
		err = fmt.Errorf("no version: %w", backup.ErrPart)
	}
	if err != nil {
		return v.got, fmt.Errorf("verify a backup: %w", err)
	}
	return v.got, nil
}

// A verifier checks what backups hold.
type verifier struct {
	got     BackupContent
	version bool // the newest has one
}

func (v *verifier) Pair(p [3][]byte, keep bool) error {
	v.got.Entries++
	v.got.Bytes += int64(len(p[0]) + len(p[1]) + len(p[2]))
	v.version = v.version || keep && bytes.Equal(p[0], bucketMeta) && bytes.Equal(p[1], metaVersion)
	return soundEntry(p[0], p[1], p[2])
}

func (v *verifier) Beside(_ string, content []byte, _ bool) error {
	v.got.Beside++
	v.got.Bytes += int64(len(content))
	return nil
}

func (v *verifier) Record(_ wal.Pos, rec []byte, _ bool) error {
	v.got.Records++
	v.got.Bytes += int64(len(rec))
	return nil
}

// soundEntry checks the checksums of an entry of the database.
func soundEntry(bucket, k, v []byte) error {
	if !bytes.Equal(bucket, bucketRows) {
		_, err := boltfile.OpenValue(bucket, k, v)
		return err
	}
	if _, err := rowblock.Sound(k, v); err != nil {
		return damage.InValue(bucket, k, err)
	}
	return nil
}
