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
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/wal"
)

// A backupReader reads the parts of a backup.
type backupReader struct {
	z   *zstd.Decoder
	r   *bufio.Reader
	sum hash.Hash32
}

// newBackupReader begins to read a backup. The error wraps errBackup if r does not hold a
// backup.
func newBackupReader(r io.Reader) (*backupReader, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(backupWindow))
	if err != nil {
		return nil, err
	}
	b := &backupReader{z: z, r: bufio.NewReaderSize(z, 1<<20), sum: crc32.New(record.Castagnoli)}
	if magic, err := b.read(uint64(len(backupMagic))); err != nil || string(magic) != backupMagic {
		b.close()
		return nil, errBackup
	}
	return b, nil
}

func (b *backupReader) close() { b.z.Close() }

// ReadByte returns the next byte, and sums it.
func (b *backupReader) ReadByte() (byte, error) {
	c, err := b.r.ReadByte()
	if err == nil {
		_, _ = b.sum.Write([]byte{c})
	}
	return c, err
}

// read returns the next n bytes, and sums them.
func (b *backupReader) read(n uint64) ([]byte, error) {
	if n > maxPart {
		return nil, fmt.Errorf("entry of %d bytes: %w", n, errBackup)
	}
	var out bytes.Buffer // grows as bytes come, whatever n claims
	if _, err := io.CopyN(&out, b.r, int64(n)); err != nil {
		return nil, fmt.Errorf("%w: %w", errBackup, err)
	}
	_, _ = b.sum.Write(out.Bytes())
	return out.Bytes(), nil
}

// string reads a length and as many bytes.
func (b *backupReader) string() ([]byte, error) {
	n, err := b.number()
	if err != nil {
		return nil, err
	}
	return b.read(n)
}

func (b *backupReader) number() (uint64, error) {
	n, err := binary.ReadUvarint(b)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errBackup, err)
	}
	return n, nil
}

// parts reads everything up to the end, and checks that the end is there and that the sum is right.
// It gives each pair (bucket, key, value) and each log record to the functions. They may keep them.
func (b *backupReader) parts(ctx context.Context, pair func([3][]byte) error, rec func(wal.Pos, []byte) error) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		sum := b.sum.Sum32()
		kind, err := b.ReadByte()
		if err != nil {
			return fmt.Errorf("%w: %w", errBackup, err)
		}
		switch kind {
		case backupPair:
			err = b.pair(pair)
		case backupRecord:
			err = b.record(rec)
		case backupEnd:
			return b.end(sum)
		default:
			err = errBackup
		}
		if err != nil {
			return err
		}
	}
}

// pair reads a pair.
func (b *backupReader) pair(take func([3][]byte) error) error {
	var parts [3][]byte
	for i := range parts {
		var err error
		if parts[i], err = b.string(); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(buckets, func(b []byte) bool { return bytes.Equal(b, parts[0]) }) {
		return fmt.Errorf("bucket %.20q: %w", parts[0], errBackup)
	}
	return take(parts)
}

// record reads a record of the log.
func (b *backupReader) record(take func(wal.Pos, []byte) error) error {
	p, err := b.number()
	if err != nil {
		return err
	}
	rec, err := b.string()
	if err != nil {
		return err
	}
	if p == 0 {
		return fmt.Errorf("log record 0: %w", errBackup)
	}
	return take(wal.Pos(p), rec)
}

// end checks the sum of everything before the end, and that nothing follows.
func (b *backupReader) end(sum uint32) error {
	p, err := b.read(4)
	if err != nil || binary.LittleEndian.Uint32(p) != sum {
		return fmt.Errorf("%w: %w", errBackup, record.ErrSum)
	}
	if _, err := b.r.ReadByte(); err != io.EOF {
		return fmt.Errorf("behind the end: %w", errors.Join(errBackup, err))
	}
	return nil
}

// A BackupContent is what VerifyBackup has found in a backup.
type BackupContent struct {
	Entries int64 // entries of the database
	Records int64 // records of the log
	Bytes   int64 // of entries and records, before compression
}

// VerifyBackup reads a whole backup, as Restore does, and writes nothing. It checks the sum of the
// backup and the checksum of every entry of the database in it. An error means that Restore would
// fail, or that the restored database would be damaged.
func VerifyBackup(ctx context.Context, r io.Reader) (got BackupContent, err error) {
	b, err := newBackupReader(r)
	if err != nil {
		return got, fmt.Errorf("verify a backup: %w", err)
	}
	defer b.close()
	version, last := false, wal.Pos(0)
	pair := func(p [3][]byte) error {
		got.Entries++
		got.Bytes += int64(len(p[0]) + len(p[1]) + len(p[2]))
		version = version || bytes.Equal(p[0], bucketMeta) && bytes.Equal(p[1], metaVersion)
		return soundEntry(p[0], p[1], p[2])
	}
	rec := func(p wal.Pos, rec []byte) error {
		if last != 0 && p != last+1 {
			return fmt.Errorf("log record %d where %d belongs: %w", p, last+1, errBackup)
		}
		last = p
		got.Records++
		got.Bytes += int64(len(rec))
		return nil
	}
	if err = b.parts(ctx, pair, rec); err == nil && !version {
		err = fmt.Errorf("no version: %w", errBackup)
	}
	if err != nil {
		return got, fmt.Errorf("verify a backup: %w", err)
	}
	return got, nil
}

// soundEntry checks the checksums of an entry of the database.
func soundEntry(bucket, k, v []byte) error {
	if !bytes.Equal(bucket, bucketRows) {
		_, err := boltfile.OpenValue(bucket, k, v)
		return err
	}
	b, err := rowblock.Open(k, v)
	for i := 0; err == nil && i < b.Columns; i++ {
		_, err = b.Column(i)
	}
	if err != nil {
		return damage.InValue(bucket, k, err)
	}
	return nil
}
