package core

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/wal"
)

// A backup is the catalogue as one transaction shows it, then every group as a
// transaction of its own shows it, then the log from the catalogue's position
// on. Each group carries the position it stands for, so that replay makes one
// consistent store of them; and no transaction stays open while the reader of
// the backup is slow, which would keep pages from being used again.
//
// The stream is a zstd frame of: magic; entries (kind, then for a pair: bucket,
// key, value; for a record: position, bytes), each string with its length; an
// end entry with the checksum of everything before it. Part of the format.
const (
	backupMagic  = "rondo backup 1\n"
	backupPair   = 1
	backupRecord = 2
	backupEnd    = 3
	maxEntry     = 256 << 20
	backupWindow = 8 << 20 // of zstd: what a reader must remember
)

var errBackup = errors.New("not a whole backup of this version")

// catalogueBuckets is what is copied in one transaction.
var catalogueBuckets = [][]byte{bucketMeta, bucketClasses, bucketDefs, bucketNames, bucketSeries, bucketLabels, bucketNotes, bucketMetadata}

type backupWriter struct {
	w   io.Writer
	sum hash.Hash32
	buf []byte
}

func (b *backupWriter) write(p []byte) error {
	_, _ = b.sum.Write(p) // a hash does not fail
	_, err := b.w.Write(p)
	return err
}

func appendPair(dst, bucket, k, v []byte) []byte {
	dst = append(dst, backupPair)
	for _, p := range [][]byte{bucket, k, v} {
		dst = binary.AppendUvarint(dst, uint64(len(p)))
		dst = append(dst, p...)
	}
	return dst
}

// Backup writes a consistent copy of the store to w, as a zstd stream. Everything acknowledged
// before the call is in it; appends and checkpoints go on meanwhile. A reader as slow as it likes
// costs log space, not memory.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(backupWindow))
	if err != nil {
		return err
	}
	b := &backupWriter{w: z, sum: crc32.New(record.Castagnoli)}
	if err := s.backup(ctx, b); err != nil {
		_ = z.Close() // the first error is the one to tell
		return fmt.Errorf("backup: %w", err)
	}
	return z.Close()
}

func (s *Store) backup(ctx context.Context, b *backupWriter) error {
	if !s.options.ReadOnly {
		err := s.checkpoints.run(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // what it would have written is in the log
			s.options.Logger.Warn("no checkpoint before the backup, which holds more of the log therefore", "err", err)
		}
	}
	if err := b.write([]byte(backupMagic)); err != nil {
		return err
	}
	spool, pos, err := s.spoolCatalogue()
	if err != nil {
		return err
	}
	defer s.checkpoints.unpin()
	defer spool.close()
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
	if err := s.backupLog(ctx, b, pos); err != nil {
		return err
	}
	sum := b.sum.Sum32()
	return b.write(binary.LittleEndian.AppendUint32([]byte{backupEnd}, sum))
}

// spoolCatalogue copies the catalogue out of the database, so that its transaction is short, and
// keeps the log behind its position.
func (s *Store) spoolCatalogue() (*spool, wal.Pos, error) {
	out := &spool{s: s}
	var pos wal.Pos
	s.checkpoints.mu.Lock()
	defer s.checkpoints.mu.Unlock()
	err := s.db.View(nil, func(tx *boltfile.Tx) error {
		p, err := metaNumber(tx, metaCatalogue)
		if err != nil {
			return err
		}
		pos = wal.Pos(p)
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
		return nil, 0, err
	}
	s.checkpoints.pin(pos)
	return out, pos, nil
}

// backupGroup copies what the database holds of one group.
func (s *Store) backupGroup(b *backupWriter, g *group) error {
	buf := b.buf[:0]
	err := s.db.View(bucketRows, func(tx *boltfile.Tx) error {
		v := tx.Bucket(bucketState).Get(g.stateKey())
		if v == nil {
			return nil
		}
		buf = appendPair(buf, bucketState, g.stateKey(), v)
		copied := &group{c: g.c, id: g.id}
		defer copied.unload()
		if err := copied.decodeState(v); err != nil {
			return fmt.Errorf("state of group %d of class %d: %w", g.id, g.c.id, err)
		}
		rows := tx.Bucket(bucketRows)
		for st, entries := range copied.dir.Slots {
			for _, e := range entries {
				for sub := e.Lo; sub < e.Hi; sub++ {
					k := rowblock.Key(nil, g.c.id, st, e.Slot, sub, g.id)
					v := rows.Get(k)
					if err := s.wholeBlock(tx, g, st, e.Slot, sub, k, v); err != nil {
						return err
					}
					buf = appendPair(buf, bucketRows, k, v)
				}
			}
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

// wholeBlock checks all of a row block.
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
	if s.log.Last() <= pos {
		return nil
	}
	return s.log.Replay(pos+1, func(p wal.Pos, rec []byte) error {
		b.buf = append(b.buf[:0], backupRecord)
		b.buf = binary.AppendUvarint(b.buf, uint64(p))
		b.buf = binary.AppendUvarint(b.buf, uint64(len(rec)))
		if err := b.write(append(b.buf, rec...)); err != nil {
			return err
		}
		return ctx.Err()
	})
}

// restoreInto makes a database and a log in the folder dir, which is empty, from a backup.
func restoreInto(r io.Reader, dir string) error {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(backupWindow))
	if err != nil {
		return err
	}
	defer z.Close()
	db, err := boltfile.Open(filepath.Join(dir, fileDB), boltfile.Options{NoSync: true})
	if err != nil {
		return err
	}
	re := &restorer{r: bufio.NewReaderSize(z, 1<<20), sum: crc32.New(record.Castagnoli), db: db, dir: dir}
	err = re.run()
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

// A restorer reads a backup.
type restorer struct {
	r   *bufio.Reader
	sum hash.Hash32
	db  *boltfile.File
	log *wal.Log
	dir string
	// pairs, of size bytes, wait to be written.
	pairs [][3][]byte
	size  int
	// version is put last: what is there after a crash in between is refused by Open.
	version []byte
}

// ReadByte and read feed the checksum.
func (re *restorer) ReadByte() (byte, error) {
	c, err := re.r.ReadByte()
	if err == nil {
		_, _ = re.sum.Write([]byte{c})
	}
	return c, err
}

func (re *restorer) read(n uint64) ([]byte, error) {
	if n > maxEntry {
		return nil, fmt.Errorf("entry of %d bytes: %w", n, errBackup)
	}
	var out bytes.Buffer // grows with what is there, not with what is claimed
	if _, err := io.CopyN(&out, re.r, int64(n)); err != nil {
		return nil, fmt.Errorf("%w: %w", errBackup, err)
	}
	_, _ = re.sum.Write(out.Bytes())
	return out.Bytes(), nil
}

func (re *restorer) string() ([]byte, error) {
	n, err := binary.ReadUvarint(re)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBackup, err)
	}
	return re.read(n)
}

func (re *restorer) run() (err error) {
	magic, err := re.read(uint64(len(backupMagic)))
	if err != nil || string(magic) != backupMagic {
		return errBackup
	}
	if err := re.write(); err != nil { // buckets without a version: not a new store
		return err
	}
	for {
		sum := re.sum.Sum32()
		kind, err := re.ReadByte()
		if err != nil {
			return fmt.Errorf("%w: %w", errBackup, err)
		}
		switch kind {
		case backupPair:
			err = re.pair()
		case backupRecord:
			err = re.record()
		case backupEnd:
			return re.end(sum)
		default:
			err = errBackup
		}
		if err != nil {
			return err
		}
	}
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

func (re *restorer) pair() error {
	var parts [3][]byte
	for i := range parts {
		var err error
		if parts[i], err = re.string(); err != nil {
			return err
		}
	}
	if bytes.Equal(parts[0], bucketMeta) && bytes.Equal(parts[1], metaVersion) {
		re.version = parts[2]
		return nil
	}
	if bytes.Equal(parts[0], bucketMeta) && bytes.Equal(parts[1], metaLog) {
		return nil // the log of the store that was backed up
	}
	if !slices.ContainsFunc(buckets, func(b []byte) bool { return bytes.Equal(b, parts[0]) }) {
		return fmt.Errorf("bucket %.20q: %w", parts[0], errBackup)
	}
	re.pairs = append(re.pairs, parts)
	if re.size += len(parts[1]) + len(parts[2]); re.size > txBytes {
		return re.write()
	}
	return nil
}

func (re *restorer) record() error {
	p, err := binary.ReadUvarint(re)
	if err != nil {
		return fmt.Errorf("%w: %w", errBackup, err)
	}
	rec, err := re.string()
	if err != nil {
		return err
	}
	if p == 0 {
		return fmt.Errorf("log record 0: %w", errBackup)
	}
	if re.log == nil {
		if err := re.openLog(wal.Pos(p) - 1); err != nil {
			return err
		}
	}
	got, err := re.log.Enqueue(rec)
	if err != nil {
		return err
	}
	if got != wal.Pos(p) {
		return fmt.Errorf("log record %d where %d belongs: %w", p, got, errBackup)
	}
	return nil
}

func (re *restorer) openLog(after wal.Pos) (err error) {
	re.log, err = wal.Open(filepath.Join(re.dir, dirLog), wal.Options{After: after, SegmentBytes: segmentBytes})
	return err
}

func (re *restorer) end(sum uint32) error {
	p, err := re.read(4)
	if err != nil || binary.LittleEndian.Uint32(p) != sum {
		return fmt.Errorf("%w: %w", errBackup, record.ErrSum)
	}
	if re.version == nil {
		return fmt.Errorf("no version: %w", errBackup)
	}
	if _, err := re.r.ReadByte(); err != io.EOF {
		return fmt.Errorf("behind the end: %w", errors.Join(errBackup, err))
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
	if err := re.write(); err != nil { // what came before the version, durably
		return err
	}
	if err := re.db.Sync(); err != nil {
		return err
	}
	re.pairs = append(re.pairs, [3][]byte{bucketMeta, metaVersion, re.version})
	return re.write()
}
