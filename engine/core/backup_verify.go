package core

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/wal"
)

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
