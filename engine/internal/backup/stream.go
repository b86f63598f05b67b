// Package backup writes and reads the stream of a backup.
//
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
package backup

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/rondo-db/rondo/engine/internal/labelindex"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/wal"
)

const (
	magic        = "rondo backup 2\n"
	partPair     = 1
	partRecord   = 2
	partEnd      = 3
	partGroup    = 4
	partSame     = 5 // a group that is as in the base
	partBeside   = 6 // a text besides the database
	maxPart      = 256 << 20
	maxDirectory = 16 << 20
	window       = 8 << 20 // of zstd: how much a reader must remember
)

var (
	// ErrPart says that a stream is not a backup, or that a part of it is missing.
	ErrPart = errors.New("not a whole backup of this version")
	// ErrBase says that a backup cannot be the base of an increment: it is of another database, or
	// of a later time, or it does not precede the increment.
	ErrBase = errors.New("no base for this backup")
)

// A Format is what a backup has to know of the database.
type Format struct {
	Version   uint64
	Catalogue [][]byte // buckets that are copied in one transaction
	State     []byte   // the bucket of the state records of groups
}

// An ID is a random name of a store, or of a backup.
type ID [16]byte

// NewID returns a new name.
func NewID() (id ID) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

// A Head names a backup, the store that it was made of, and how far it reaches.
type Head struct {
	Store, ID, Base ID      // Base: zeros where the backup holds everything
	From, To        wal.Pos // positions of the base's catalogue, 0 without a base, and its own
}

// Full says whether the backup holds everything, so that it restores without another one.
func (h *Head) Full() bool { return h.Base == ID{} }

// Append appends the head of a backup of a database of some version.
func (h *Head) Append(dst []byte, version uint64) []byte {
	dst = binary.AppendUvarint(dst, version)
	dst = append(dst, h.Store[:]...)
	dst = append(dst, h.ID[:]...)
	dst = append(dst, h.Base[:]...)
	dst = binary.AppendUvarint(dst, uint64(h.From))
	return binary.AppendUvarint(dst, uint64(h.To))
}

// maxHead bounds the bytes of a head.
const maxHead = 128

// Parse is the inverse of Append. The error wraps [record.ErrParse], or says which other version
// the backup has: see [record.OtherVersion].
func (h *Head) Parse(b []byte, version uint64) error {
	r := record.Reader{Rest: b}
	if v := r.Uvarint(); r.Err == nil && v != version {
		return fmt.Errorf("a backup of format %d, this program writes format %d: %w", v, version, record.OtherVersion(v, version))
	}
	for _, id := range []*ID{&h.Store, &h.ID, &h.Base} {
		copy(id[:], r.Bytes(uint64(len(id))))
	}
	h.From, h.To = wal.Pos(r.Uvarint()), wal.Pos(r.Uvarint())
	if r.Err != nil || len(r.Rest) > 0 || h.ID == (ID{}) || h.From > h.To || h.Full() && h.From != 0 {
		return fmt.Errorf("no head of a backup: %w", record.ErrParse)
	}
	return nil
}

// first says why a backup cannot be restored without one before it.
func (h *Head) first() error {
	if !h.Full() {
		return fmt.Errorf("it holds what changed since another backup, which must come before it: %w", ErrBase)
	}
	return nil
}

// follows says why the backup with head h cannot be restored on top of that with the head base.
func (h *Head) follows(base *Head) error {
	switch {
	case h.Full():
		return fmt.Errorf("it holds everything and comes first: %w", ErrBase)
	case h.Store != base.Store:
		return fmt.Errorf("it is of another database: %w", ErrBase)
	case h.ID == base.ID:
		return fmt.Errorf("it is the same backup: %w", ErrBase)
	case h.Base != base.ID || h.From != base.To:
		return fmt.Errorf("it was made since another backup: %w", ErrBase)
	}
	return nil
}

// A Writer writes a backup and sums its bytes.
type Writer struct {
	Base *Head  // nil: the backup holds everything
	Buf  []byte // room for parts

	z   *zstd.Encoder
	sum hash.Hash32
}

// NewWriter begins a backup. The caller calls Head, then writes the other parts, and calls End.
func NewWriter(w io.Writer, base *Head) (*Writer, error) {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	return &Writer{Base: base, z: z, sum: crc32.New(record.Castagnoli)}, err
}

// Write writes parts.
func (b *Writer) Write(parts []byte) (int, error) {
	_, _ = b.sum.Write(parts) // a hash does not fail
	return b.z.Write(parts)
}

// Head writes the head, and sets its Base and From. The error wraps ErrBase.
func (b *Writer) Head(head *Head, version uint64) error {
	if base := b.Base; base != nil {
		if base.Store != head.Store || base.To > head.To {
			return fmt.Errorf("the base reaches to log position %d, the database to %d: %w", base.To, head.To, ErrBase)
		}
		head.Base, head.From = base.ID, base.To
	}
	b.Buf = appendText(append(b.Buf[:0], magic...), head.Append(nil, version))
	_, err := b.Write(b.Buf)
	return err
}

// Beside writes a text besides the database. Its name is one that IsBeside takes.
func (b *Writer) Beside(name string, content []byte) error {
	b.Buf = appendText(appendText(append(b.Buf[:0], partBeside), []byte(name)), content)
	_, err := b.Write(b.Buf)
	return err
}

// Record writes a record of the log.
func (b *Writer) Record(p wal.Pos, rec []byte) error {
	b.Buf = binary.AppendUvarint(append(b.Buf[:0], partRecord), uint64(p))
	b.Buf = appendText(b.Buf, rec)
	_, err := b.Write(b.Buf)
	return err
}

// End writes the end.
func (b *Writer) End() error {
	sum := b.sum.Sum32()
	_, err := b.Write(binary.LittleEndian.AppendUint32([]byte{partEnd}, sum))
	return errors.Join(err, b.Close())
}

// Close ends the stream. Without End the backup has no end, and nobody restores it.
func (b *Writer) Close() error { return b.z.Close() }

func appendText(dst, p []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(p))), p...)
}

// AppendPair codes a pair.
func AppendPair(dst, bucket, k, v []byte) []byte {
	return appendText(appendText(appendText(append(dst, partPair), bucket), k), v)
}

// AppendGroup codes what a backup says of a group before its pairs: the position and the directory.
func AppendGroup(dst []byte, id labelindex.Group, pos wal.Pos, dir *rowblock.Directory) []byte {
	dst = appendGroupPos(append(dst, partGroup), id, pos)
	return appendText(dst, dir.Append(binary.AppendUvarint(nil, uint64(len(dir.Slots)))))
}

// AppendSame codes that a group is as in the base.
func AppendSame(dst []byte, id labelindex.Group, pos wal.Pos) []byte {
	return appendGroupPos(append(dst, partSame), id, pos)
}

func appendGroupPos(dst []byte, id labelindex.Group, pos wal.Pos) []byte {
	dst = binary.AppendUvarint(dst, uint64(id.Class))
	dst = binary.AppendUvarint(dst, uint64(id.Number))
	return binary.AppendUvarint(dst, uint64(pos))
}

// BesideFolders are the folders in the database's folder whose files backups hold.
var BesideFolders = []string{"dashboards", "rules"}

const maxBesideName = 300

// MaxBeside bounds the bytes of a text besides the database.
const MaxBeside = 4 << 20

// IsBeside reports whether a name is a file's, directly in one of the folders whose files backups
// hold.
func IsBeside(name string) bool {
	folder, file, _ := strings.Cut(name, "/")
	return slices.Contains(BesideFolders, folder) && len(name) <= maxBesideName &&
		file != "" && file[0] != '.' && !strings.ContainsAny(file, "/\\:\x00")
}

// A Sink takes what backups hold. It may keep the slices.
type Sink interface {
	// Pair takes a pair: bucket, key, value. keep: it belongs into the database.
	Pair(p [3][]byte, keep bool) error
	// Beside takes a text besides the database. keep: it belongs into the folder.
	Beside(name string, content []byte, keep bool) error
	// Record takes a record of the log. keep: it belongs into the log.
	Record(p wal.Pos, rec []byte, keep bool) error
}

// A reader reads the parts of a backup.
type reader struct {
	format *Format
	z      *zstd.Decoder
	r      *bufio.Reader
	sum    hash.Hash32
	head   Head
}

// ReadHead reads the beginning of a backup. The caller may stop reading r then.
func ReadHead(r io.Reader, format *Format) (*Head, error) {
	b, err := newReader(r, format)
	if err != nil {
		return nil, err
	}
	b.close()
	return &b.head, nil
}

// newReader begins to read a backup, and reads its head. The error wraps ErrPart if r does not hold
// a backup.
func newReader(r io.Reader, format *Format) (*reader, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return nil, err
	}
	b := &reader{format: format, z: z, r: bufio.NewReaderSize(z, 1<<20), sum: crc32.New(record.Castagnoli)}
	if text, err := b.read(uint64(len(magic)), maxPart); err != nil || string(text) != magic {
		b.close()
		return nil, ErrPart
	}
	code, err := b.string(maxHead)
	if err == nil {
		if err = b.head.Parse(code, format.Version); err != nil {
			err = fmt.Errorf("%w: %w", ErrPart, err)
		}
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *reader) close() { b.z.Close() }

// ReadByte returns the next byte, and sums it.
func (b *reader) ReadByte() (byte, error) {
	c, err := b.r.ReadByte()
	if err == nil {
		_, _ = b.sum.Write([]byte{c})
	}
	return c, err
}

// read returns the next n bytes and sums them. It fails if n is more than most.
func (b *reader) read(n, most uint64) ([]byte, error) {
	if n > most {
		return nil, fmt.Errorf("entry of %d bytes: %w", n, ErrPart)
	}
	var out bytes.Buffer // grows as bytes come, whatever n claims
	if _, err := io.CopyN(&out, b.r, int64(n)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPart, err)
	}
	_, _ = b.sum.Write(out.Bytes())
	return out.Bytes(), nil
}

// string reads a length, which is most or less, and as many bytes.
func (b *reader) string(most uint64) ([]byte, error) {
	n, err := b.number()
	if err != nil {
		return nil, err
	}
	return b.read(n, most)
}

func (b *reader) number() (uint64, error) {
	n, err := binary.ReadUvarint(b)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrPart, err)
	}
	return n, nil
}

// parts reads everything up to the end, and checks that the end is there and that the sum is right.
func (b *reader) parts(ctx context.Context, plan *plan, to Sink) error {
	plan.file(&b.head)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		sum := b.sum.Sum32()
		kind, err := b.ReadByte()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrPart, err)
		}
		switch kind {
		case partPair:
			err = b.pair(plan, to)
		case partRecord:
			err = b.record(plan, to)
		case partBeside:
			err = b.beside(plan, to)
		case partGroup, partSame:
			err = b.group(plan, kind)
		case partEnd:
			if err := plan.endGroup(); err != nil {
				return err
			}
			return b.end(sum)
		default:
			err = ErrPart
		}
		if err != nil {
			return err
		}
	}
}

func (b *reader) pair(plan *plan, to Sink) error {
	var parts [3][]byte
	for i := range parts {
		var err error
		if parts[i], err = b.string(maxPart); err != nil {
			return err
		}
	}
	keep, err := plan.pair(parts[0], parts[1])
	if err != nil {
		return err
	}
	return to.Pair(parts, keep)
}

// group reads what stands before the pairs of a group.
func (b *reader) group(plan *plan, kind byte) error {
	var n [3]uint64
	for i := range n {
		var err error
		if n[i], err = b.number(); err != nil {
			return err
		}
	}
	if max(n[0], n[1]) > math.MaxUint32 {
		return fmt.Errorf("group %d of class %d: %w", n[1], n[0], ErrPart)
	}
	id, pos := labelindex.Group{Class: uint32(n[0]), Number: uint32(n[1])}, wal.Pos(n[2])
	if kind == partSame {
		return plan.same(id, pos)
	}
	code, err := b.string(maxDirectory)
	if err != nil {
		return err
	}
	return plan.group(id, pos, code)
}

// record reads a record of the log.
func (b *reader) record(plan *plan, to Sink) error {
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
	return to.Record(wal.Pos(p), rec, keep)
}

// beside reads a text. Texts stand before the groups, in the order of their names.
func (b *reader) beside(plan *plan, to Sink) error {
	name, err := b.string(maxBesideName)
	if err != nil {
		return err
	}
	content, err := b.string(MaxBeside)
	if err != nil {
		return err
	}
	if !IsBeside(string(name)) || string(name) <= plan.beside || plan.began || plan.log != plan.head.To {
		return fmt.Errorf("a text with the name %.80q where it does not belong: %w", name, ErrPart)
	}
	plan.beside = string(name)
	return to.Beside(plan.beside, content, plan.newest)
}

// end checks the sum of everything before the end, and that nothing follows.
func (b *reader) end(sum uint32) error {
	p, err := b.read(4, 4)
	if err != nil || binary.LittleEndian.Uint32(p) != sum {
		return fmt.Errorf("%w: %w", ErrPart, record.ErrSum)
	}
	if _, err := b.r.ReadByte(); err != io.EOF {
		return fmt.Errorf("behind the end: %w", errors.Join(ErrPart, err))
	}
	return nil
}
