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
	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// A backup holds the catalogue as one transaction shows it, then every group as a transaction of
// its own shows it, then the log from the position of the catalogue on. Each group carries the log
// position that it includes, so that replay makes one consistent store of all parts. No transaction
// stays open while the reader of the backup is slow: that would keep pages from being reused.
//
// The stream is a zstd frame. It holds a magic string, the head, then parts. Each part begins with
// its kind: a pair has bucket, key and value, a group says which of its pairs follow, a record has
// its position and its bytes, a text its name and its content, and the end has the checksum of
// everything before it. Each string has its length in front. Part of the format.
//
// An increment is a backup of what has changed since another one, its base. Of a group whose
// position is at or below the base's it has the position only. Of another group it has everything
// but the slots that have not changed since the base's position.
const (
	backupMagic  = "rondo backup 2\n"
	backupPair   = 1
	backupRecord = 2
	backupEnd    = 3
	backupGroup  = 4
	backupSame   = 5 // a group that is as in the base
	backupBeside = 6 // a text besides the database
	maxPart      = 256 << 20
	maxDirectory = 16 << 20
	backupWindow = 8 << 20 // of zstd: how much a reader must remember
)

// errBackup says that a stream is not a backup, or that a part of it is missing.
var errBackup = errors.New("not a whole backup of this version")

// catalogueBuckets are copied in one transaction.
var catalogueBuckets = [][]byte{bucketMeta, bucketClasses, bucketDefs, bucketNames, bucketSeries, bucketLabels, bucketNotes, bucketMetadata}

// A backupWriter writes a backup and sums its bytes.
type backupWriter struct {
	w    io.Writer
	sum  hash.Hash32
	buf  []byte
	base *BackupHead // nil: the backup holds everything
}

func (b *backupWriter) write(p []byte) error {
	_, _ = b.sum.Write(p) // a hash does not fail
	_, err := b.w.Write(p)
	return err
}

// appendPair codes a pair.
func appendPair(dst, bucket, k, v []byte) []byte {
	dst = append(dst, backupPair)
	for _, p := range [][]byte{bucket, k, v} {
		dst = binary.AppendUvarint(dst, uint64(len(p)))
		dst = append(dst, p...)
	}
	return dst
}

// appendGroup codes what a backup says of a group before its pairs: the position and the directory.
func appendGroup(dst []byte, id groupID, pos wal.Pos, dir *rowblock.Directory) []byte {
	dst = appendGroupPos(append(dst, backupGroup), id, pos)
	code := dir.Append(binary.AppendUvarint(nil, uint64(len(dir.Slots))))
	dst = binary.AppendUvarint(dst, uint64(len(code)))
	return append(dst, code...)
}

// appendSame codes that a group is as in the base.
func appendSame(dst []byte, id groupID, pos wal.Pos) []byte {
	return appendGroupPos(append(dst, backupSame), id, pos)
}

func appendGroupPos(dst []byte, id groupID, pos wal.Pos) []byte {
	dst = binary.AppendUvarint(dst, uint64(id.Class))
	dst = binary.AppendUvarint(dst, uint64(id.Number))
	return binary.AppendUvarint(dst, uint64(pos))
}

// ErrBase says that a backup cannot be the base of an increment: it is of another database, or of a
// later time, or it does not precede the increment.
var ErrBase = errors.New("no base for this backup")

// A BackupHead names a backup, the store that it was made of, and how far it reaches. Whoever has
// it can make a backup of what changed since, without the backup itself.
type BackupHead struct {
	store, id, base backupID // base: zeros where the backup holds everything
	from, to        wal.Pos  // positions of the base's catalogue, 0 without a base, and its own
}

// Full says whether the backup holds everything, so that it restores without another one.
func (h *BackupHead) Full() bool { return h.base == backupID{} }

// AppendBinary appends the head as a backup has it. It does not fail.
func (h *BackupHead) AppendBinary(dst []byte) ([]byte, error) {
	dst = binary.AppendUvarint(dst, formatVersion)
	dst = append(dst, h.store[:]...)
	dst = append(dst, h.id[:]...)
	dst = append(dst, h.base[:]...)
	dst = binary.AppendUvarint(dst, uint64(h.from))
	return binary.AppendUvarint(dst, uint64(h.to)), nil
}

// maxHead bounds the bytes of a head.
const maxHead = 128

// UnmarshalBinary is the inverse of AppendBinary. The error matches ErrInvalid, or ErrVersion where
// the backup is of another format.
func (h *BackupHead) UnmarshalBinary(b []byte) error {
	r := record.Reader{Rest: b}
	if v := r.Uvarint(); r.Err == nil && v != formatVersion {
		return fmt.Errorf("a backup of format %d, this program writes format %d: %w", v, formatVersion, record.OtherVersion(v, formatVersion))
	}
	for _, id := range []*backupID{&h.store, &h.id, &h.base} {
		copy(id[:], r.Bytes(uint64(len(id))))
	}
	h.from, h.to = wal.Pos(r.Uvarint()), wal.Pos(r.Uvarint())
	if r.Err != nil || len(r.Rest) > 0 || h.id == (backupID{}) || h.from > h.to || h.Full() && h.from != 0 {
		return invalid("no head of a backup")
	}
	return nil
}

// ReadBackupHead reads the beginning of a backup. The caller may stop reading r then.
func ReadBackupHead(r io.Reader) (*BackupHead, error) {
	b, err := newBackupReader(r)
	if err != nil {
		return nil, fmt.Errorf("read the head of a backup: %w", err)
	}
	b.close()
	return &b.head, nil
}

// first says why a backup cannot be restored without one before it.
func (h *BackupHead) first() error {
	if !h.Full() {
		return fmt.Errorf("it holds what changed since another backup, which must come before it: %w", ErrBase)
	}
	return nil
}

// follows says why the backup with head h cannot be restored on top of that with the head base.
func (h *BackupHead) follows(base *BackupHead) error {
	switch {
	case h.Full():
		return fmt.Errorf("it holds everything and comes first: %w", ErrBase)
	case h.store != base.store:
		return fmt.Errorf("it is of another database: %w", ErrBase)
	case h.id == base.id:
		return fmt.Errorf("it is the same backup: %w", ErrBase)
	case h.base != base.id || h.from != base.to:
		return fmt.Errorf("it was made since another backup: %w", ErrBase)
	}
	return nil
}

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
	// beside takes a text besides the database. keep: it belongs into the folder.
	beside(name string, content []byte, keep bool) error
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
		case backupBeside:
			err = b.beside(plan, to)
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
	id, pos := groupID{Class: uint32(n[0]), Number: uint32(n[1])}, wal.Pos(n[2])
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
	return verifyBackups(ctx, oneBackup(r))
}

// VerifyBackups does the same with the files of a backup and its increments, as RestoreFiles reads
// them. It counts what all of them hold.
func VerifyBackups(ctx context.Context, names ...string) (got BackupContent, err error) {
	return verifyBackups(ctx, namedBackups(names))
}

func verifyBackups(ctx context.Context, files []backupFile) (BackupContent, error) {
	v := new(verifier)
	err := readBackups(ctx, files, v)
	if err == nil && !v.version {
		err = fmt.Errorf("no version: %w", errBackup)
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

func (v *verifier) pair(p [3][]byte, keep bool) error {
	v.got.Entries++
	v.got.Bytes += int64(len(p[0]) + len(p[1]) + len(p[2]))
	v.version = v.version || keep && bytes.Equal(p[0], bucketMeta) && bytes.Equal(p[1], metaVersion)
	return soundEntry(p[0], p[1], p[2])
}

func (v *verifier) beside(_ string, content []byte, _ bool) error {
	v.got.Beside++
	v.got.Bytes += int64(len(content))
	return nil
}

func (v *verifier) record(_ wal.Pos, rec []byte, _ bool) error {
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
	b, err := rowblock.Open(k, v)
	for i := 0; err == nil && i < b.Columns; i++ {
		_, err = b.Column(i)
	}
	if err != nil {
		return damage.InValue(bucket, k, err)
	}
	return nil
}
