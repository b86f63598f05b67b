package core

import (
	"encoding/binary"
	"errors"
	"hash"
	"io"

	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/wal"
)

// A backup holds the catalogue as one transaction shows it, then every group as a transaction of
// its own shows it, then the log from the position of the catalogue on. Each group carries the log
// position that it includes, so that replay makes one consistent store of all parts. No
// transaction stays open while the reader of the backup is slow: that would keep pages from being
// reused.
//
// The stream is a zstd frame. It holds a magic string, the head, then parts. Each part begins with
// its kind: a pair has bucket, key and value, a group tells which pairs of it follow, a record has
// its position and its bytes, and the end has the checksum of everything before it. Each string has
// its length in front. Part of the format.
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

// write writes p.
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
	dst = binary.AppendUvarint(dst, uint64(id.class))
	dst = binary.AppendUvarint(dst, uint64(id.group))
	return binary.AppendUvarint(dst, uint64(pos))
}
