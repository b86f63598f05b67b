package core

import (
	"encoding/binary"
	"errors"
	"hash"
	"io"
)

// A backup holds the catalogue as one transaction shows it, then every group as a transaction of
// its own shows it, then the log from the position of the catalogue on. Each group carries the log
// position that it includes, so that replay makes one consistent store of all parts. No
// transaction stays open while the reader of the backup is slow: that would keep pages from being
// reused.
//
// The stream is a zstd frame. It holds a magic string, then parts. Each part begins with its kind:
// a pair has bucket, key and value, a record has its position and its bytes, and the end has the
// checksum of everything before it. Each string has its length in front. Part of the format.
const (
	backupMagic  = "rondo backup 1\n"
	backupPair   = 1
	backupRecord = 2
	backupEnd    = 3
	maxPart      = 256 << 20
	backupWindow = 8 << 20 // of zstd: how much a reader must remember
)

// errBackup says that a stream is not a backup, or that a part of it is missing.
var errBackup = errors.New("not a whole backup of this version")

// catalogueBuckets are copied in one transaction.
var catalogueBuckets = [][]byte{bucketMeta, bucketClasses, bucketDefs, bucketNames, bucketSeries, bucketLabels, bucketNotes, bucketMetadata}

// A backupWriter writes a backup and sums its bytes.
type backupWriter struct {
	w   io.Writer
	sum hash.Hash32
	buf []byte
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
