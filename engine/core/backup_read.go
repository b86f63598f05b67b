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
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// A backupReader reads the parts of a backup.
type backupReader struct {
	z   *zstd.Decoder
	r   *bufio.Reader
	sum hash.Hash32

	head BackupHead
}

// newBackupReader begins to read a backup, and reads its head. The error wraps errBackup if r does
// not hold a backup.
func newBackupReader(r io.Reader) (*backupReader, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(backupWindow))
	if err != nil {
		return nil, err
	}
	b := &backupReader{z: z, r: bufio.NewReaderSize(z, 1<<20), sum: crc32.New(record.Castagnoli)}
	if magic, err := b.read(uint64(len(backupMagic)), maxPart); err != nil || string(magic) != backupMagic {
		b.close()
		return nil, errBackup
	}
	if err := b.readHead(); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *backupReader) readHead() error {
	code, err := b.string(maxHead)
	if err != nil {
		return err
	}
	if err := b.head.UnmarshalBinary(code); err != nil {
		return fmt.Errorf("%w: %w", errBackup, err)
	}
	return nil
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

// read returns the next n bytes and sums them. It fails if n is more than most.
func (b *backupReader) read(n, most uint64) ([]byte, error) {
	if n > most {
		return nil, fmt.Errorf("entry of %d bytes: %w", n, errBackup)
	}
	var out bytes.Buffer // grows as bytes come, whatever n claims
	if _, err := io.CopyN(&out, b.r, int64(n)); err != nil {
		return nil, fmt.Errorf("%w: %w", errBackup, err)
	}
	_, _ = b.sum.Write(out.Bytes())
	return out.Bytes(), nil
}

// string reads a length, which is most or less, and as many bytes.
func (b *backupReader) string(most uint64) ([]byte, error) {
	n, err := b.number()
	if err != nil {
		return nil, err
	}
	return b.read(n, most)
}

func (b *backupReader) number() (uint64, error) {
	n, err := binary.ReadUvarint(b)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errBackup, err)
	}
	return n, nil
}

// A backupSink takes what backups hold. It may keep the slices.
type backupSink interface {
	// pair takes a pair: bucket, key, value. keep: it belongs into the database.
	pair(p [3][]byte, keep bool) error
	// record takes a record of the log. keep: it belongs into the log.
	record(p wal.Pos, rec []byte, keep bool) error
}

// parts reads everything up to the end, and checks that the end is there and that the sum is right.
func (b *backupReader) parts(ctx context.Context, plan *backupPlan, to backupSink) error {
	plan.file(&b.head)
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
			err = b.pair(plan, to)
		case backupRecord:
			err = b.record(plan, to)
		case backupGroup, backupSame:
			err = b.group(plan, kind)
		case backupEnd:
			if err := plan.endGroup(); err != nil {
				return err
			}
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
func (b *backupReader) pair(plan *backupPlan, to backupSink) error {
	var parts [3][]byte
	for i := range parts {
		var err error
		if parts[i], err = b.string(maxPart); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(buckets, func(b []byte) bool { return bytes.Equal(b, parts[0]) }) {
		return fmt.Errorf("bucket %.20q: %w", parts[0], errBackup)
	}
	keep, err := plan.pair(parts)
	if err != nil {
		return err
	}
	return to.pair(parts, keep)
}

// group reads what stands before the pairs of a group.
func (b *backupReader) group(plan *backupPlan, kind byte) error {
	var n [3]uint64
	for i := range n {
		var err error
		if n[i], err = b.number(); err != nil {
			return err
		}
	}
	if max(n[0], n[1]) > math.MaxUint32 {
		return fmt.Errorf("group %d of class %d: %w", n[1], n[0], errBackup)
	}
	id, pos := groupID{uint32(n[0]), uint32(n[1])}, wal.Pos(n[2])
	if kind == backupSame {
		return plan.same(id, pos)
	}
	code, err := b.string(maxDirectory)
	if err != nil {
		return err
	}
	return plan.group(id, pos, code)
}

// record reads a record of the log.
func (b *backupReader) record(plan *backupPlan, to backupSink) error {
	p, err := b.number()
	if err != nil {
		return err
	}
	rec, err := b.string(maxPart)
	if err != nil {
		return err
	}
	keep, err := plan.record(wal.Pos(p))
	if err != nil {
		return err
	}
	return to.record(wal.Pos(p), rec, keep)
}

// end checks the sum of everything before the end, and that nothing follows.
func (b *backupReader) end(sum uint32) error {
	p, err := b.read(4, 4)
	if err != nil || binary.LittleEndian.Uint32(p) != sum {
		return fmt.Errorf("%w: %w", errBackup, record.ErrSum)
	}
	if _, err := b.r.ReadByte(); err != io.EOF {
		return fmt.Errorf("behind the end: %w", errors.Join(errBackup, err))
	}
	return nil
}
