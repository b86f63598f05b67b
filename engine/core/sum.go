package core

import (
	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/internal/record"
)

// getValue returns the value of a key without its checksum; nil if there is none.
func getValue(tx *bolt.Tx, bucket, key []byte) ([]byte, error) {
	v := tx.Bucket(bucket).Get(key)
	if v == nil {
		return nil, nil
	}
	return openValue(bucket, key, v)
}

// openValue returns a stored value without its checksum, or the damage.
func openValue(bucket, key, v []byte) ([]byte, error) {
	body, err := record.CutSum(v, bucket, key)
	if err != nil {
		return nil, damagedValue(bucket, key, err)
	}
	return body, nil
}

// putValue puts a value with its checksum. Room behind value may be used for it.
func putValue(tx *bolt.Tx, bucket, key, value []byte) error {
	return tx.Bucket(bucket).Put(key, record.AppendSum(value, bucket, key))
}
