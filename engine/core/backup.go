package core

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
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
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(backupWindow))
	if err != nil {
		return err
	}
	b := &backupWriter{w: z, sum: crc32.New(record.Castagnoli), base: base}
	if err := s.backup(ctx, b); err != nil {
		_ = z.Close() // the first error is the one to tell
		return fmt.Errorf("backup: %w", err)
	}
	return z.Close()
}

func (s *Store) backup(ctx context.Context, b *backupWriter) error {
	if err := s.checkBase(b.base); err != nil {
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
	spool, head, err := s.spoolCatalogue()
	if err != nil {
		return err
	}
	defer s.checkpoints.unpin()
	defer spool.close()
	s.failpoint("backup-catalogue")
	if err := s.backupHead(b, head); err != nil {
		return err
	}
	if err := spool.copyTo(b.write); err != nil {
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
	if err := s.backupLog(ctx, b, head.to); err != nil {
		return err
	}
	sum := b.sum.Sum32()
	return b.write(binary.LittleEndian.AppendUint32([]byte{backupEnd}, sum))
}

// checkBase refuses a base that is not of this store, or not of its past.
func (s *Store) checkBase(base *BackupHead) error {
	if base == nil {
		return nil
	}
	return s.db.View(bucketMeta, func(tx *boltfile.Tx) error {
		id, err := readStoreID(tx)
		if err != nil {
			return err
		}
		if id != base.store {
			return fmt.Errorf("the base is a backup of another database, or of this one before it was restored or repaired: %w", ErrBase)
		}
		return nil
	})
}

// backupHead writes the head, once the catalogue is read.
func (s *Store) backupHead(b *backupWriter, head *BackupHead) error {
	if base := b.base; base != nil {
		if base.store != head.store || base.to > head.to {
			return fmt.Errorf("the base reaches to log position %d, the database to %d: %w", base.to, head.to, ErrBase)
		}
		head.base, head.from = base.id, base.to
	}
	code, _ := head.AppendBinary(nil) // it does not fail
	b.buf = binary.AppendUvarint(append(b.buf[:0], backupMagic...), uint64(len(code)))
	return b.write(append(b.buf, code...))
}

// spoolCatalogue copies the catalogue out of the database in one short transaction. It returns the
// head of a backup that begins with it, and pins the log behind its position.
func (s *Store) spoolCatalogue() (*spool, *BackupHead, error) {
	out := &spool{s: s}
	head := &BackupHead{id: newBackupID()}
	s.checkpoints.mu.Lock()
	defer s.checkpoints.mu.Unlock()
	err := s.db.View(nil, func(tx *boltfile.Tx) (err error) {
		if head.store, err = readStoreID(tx); err != nil {
			return err
		}
		p, err := metaNumber(tx, metaCatalogue)
		if err != nil {
			return err
		}
		head.to = wal.Pos(p)
		var buf []byte
		for _, name := range catalogueBuckets {
			cur := tx.Bucket(name).Cursor()
			for k, v := cur.First(); k != nil; k, v = cur.Next() {
				if _, err := boltfile.OpenValue(name, k, v); err != nil {
					return err
				}
				buf = appendPair(buf[:0], name, k, v)
				if _, err := out.Write(buf); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		out.close()
		return nil, nil, err
	}
	s.checkpoints.pin(head.to)
	return out, head, nil
}

// backupGroup copies what the database holds of one group, and has changed since the base.
func (s *Store) backupGroup(b *backupWriter, g *group) error {
	buf := b.buf[:0]
	err := s.db.View(bucketRows, func(tx *boltfile.Tx) error {
		v := tx.Bucket(bucketState).Get(g.stateKey())
		if v == nil {
			return nil
		}
		id := groupID{g.c.id, g.id}
		if b.base != nil {
			body, err := boltfile.OpenValue(bucketState, g.stateKey(), v)
			if err != nil {
				return err
			}
			if pos := statePos(body); pos <= b.base.to {
				buf = appendSame(buf, id, pos)
				return nil
			}
		}
		copied := &group{c: g.c, id: g.id}
		defer copied.unload()
		if err := copied.decodeState(v); err != nil {
			return fmt.Errorf("state of group %d of class %d: %w", g.id, g.c.id, err)
		}
		buf = appendGroup(buf, id, copied.pos, copied.dir)
		buf = appendPair(buf, bucketState, g.stateKey(), v)
		var err error
		if buf, err = s.backupRows(buf, tx, g, copied.dir, b.base); err != nil {
			return err
		}
		cur := tx.Bucket(bucketLag).Cursor()
		for k, v := cur.Seek(g.stateKey()); bytes.HasPrefix(k, g.stateKey()); k, v = cur.Next() {
			if _, err := boltfile.OpenValue(bucketLag, k, v); err != nil {
				return err
			}
			buf = appendPair(buf, bucketLag, k, v)
		}
		return nil
	})
	b.buf = buf
	if err != nil || len(buf) == 0 {
		return err
	}
	return b.write(buf)
}

// backupRows appends the blocks that a directory names, of slots that have changed since the base.
func (s *Store) backupRows(buf []byte, tx *boltfile.Tx, g *group, dir *rowblock.Directory, base *BackupHead) ([]byte, error) {
	rows := tx.Bucket(bucketRows)
	for st, entries := range dir.Slots {
		for _, e := range entries {
			if base != nil && wal.Pos(e.Pos) <= base.to {
				continue
			}
			for sub := e.Lo; sub < e.Hi; sub++ {
				k := rowblock.Key(nil, g.c.id, st, e.Slot, sub, g.id)
				v := rows.Get(k)
				if err := s.wholeBlock(tx, g, st, e.Slot, sub, k, v); err != nil {
					return buf, err
				}
				buf = appendPair(buf, bucketRows, k, v)
			}
		}
	}
	return buf, nil
}

// wholeBlock checks all bytes of a row block.
func (s *Store) wholeBlock(tx *boltfile.Tx, g *group, stream int, slot int64, sub uint16, key, v []byte) error {
	if v == nil {
		return s.loader.damagedRows(tx, g, stream, slot, sub, -1, damage.ErrMissing)
	}
	b, err := rowblock.Open(key, v)
	if err != nil {
		return s.loader.damagedRows(tx, g, stream, slot, sub, -1, err)
	}
	for i := range b.Columns {
		if _, err := b.Column(i); err != nil {
			return s.loader.damagedRows(tx, g, stream, slot, sub, i, err)
		}
	}
	return nil
}

// backupLog copies the log behind position pos.
func (s *Store) backupLog(ctx context.Context, b *backupWriter, pos wal.Pos) error {
	log := s.log.get()
	if log.Last() <= pos {
		return nil
	}
	return log.Replay(pos+1, func(p wal.Pos, rec []byte) error {
		b.buf = append(b.buf[:0], backupRecord)
		b.buf = binary.AppendUvarint(b.buf, uint64(p))
		b.buf = binary.AppendUvarint(b.buf, uint64(len(rec)))
		if err := b.write(append(b.buf, rec...)); err != nil {
			return err
		}
		return ctx.Err()
	})
}
