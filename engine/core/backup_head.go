package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/wal"
)

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
