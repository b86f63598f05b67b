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
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/wal"
)

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
	// version is put last, so that Open refuses what a crash leaves before that.
	version []byte
}

// ReadByte returns the next byte, and sums it.
func (re *restorer) ReadByte() (byte, error) {
	c, err := re.r.ReadByte()
	if err == nil {
		_, _ = re.sum.Write([]byte{c})
	}
	return c, err
}

// read returns the next n bytes, and sums them.
func (re *restorer) read(n uint64) ([]byte, error) {
	if n > maxPart {
		return nil, fmt.Errorf("entry of %d bytes: %w", n, errBackup)
	}
	var out bytes.Buffer // grows as bytes come, whatever n claims
	if _, err := io.CopyN(&out, re.r, int64(n)); err != nil {
		return nil, fmt.Errorf("%w: %w", errBackup, err)
	}
	_, _ = re.sum.Write(out.Bytes())
	return out.Bytes(), nil
}

// string reads a length and as many bytes.
func (re *restorer) string() ([]byte, error) {
	n, err := binary.ReadUvarint(re)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBackup, err)
	}
	return re.read(n)
}

// run reads the whole backup.
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

// pair reads a pair.
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

// record reads a record and puts it into the log.
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

// openLog makes a log that begins behind a position.
func (re *restorer) openLog(after wal.Pos) (err error) {
	re.log, err = wal.Open(filepath.Join(re.dir, dirLog), wal.Options{After: after, SegmentBytes: segmentBytes})
	return err
}

// end checks the sum of the stream, and completes the log and the database.
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
