package core

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/record"
)

// A backupID is a random name of a store, or of a backup. The name of a store says that its log
// positions are its own: who has seen the store at a position knows what lies at or below it.
// Restore, Repair and Salvage give a store a new name, because positions come again then, or other
// blocks stand at them.
type backupID [16]byte

func newBackupID() (id backupID) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

// putStoreID gives the store a new name.
func putStoreID(tx *boltfile.Tx) error {
	id := newBackupID()
	return tx.Put(bucketMeta, metaStore, id[:])
}

// readStoreID returns the name of the store. The error is a *DamageError.
func readStoreID(tx *boltfile.Tx) (id backupID, err error) {
	v, err := tx.Get(bucketMeta, metaStore)
	switch {
	case err != nil:
		return id, err
	case v == nil:
		return id, damage.InValue(bucketMeta, metaStore, damage.ErrMissing)
	case len(v) != len(id):
		return id, damage.InValue(bucketMeta, metaStore, record.ErrParse)
	}
	return backupID(v), nil
}

// Identity returns a name of the database, drawn at random, that no other database has. A database
// that was restored or repaired has another one than before. The error is a *DamageError.
func (s *Store) Identity() (string, error) {
	var id backupID
	err := s.db.View(bucketMeta, func(tx *boltfile.Tx) (err error) {
		id, err = readStoreID(tx)
		return err
	})
	return hex.EncodeToString(id[:]), err
}
