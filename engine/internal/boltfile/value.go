package boltfile

import (
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/internal/record"
)

// Get returns the value of key without its checksum, or nil if bucket does not hold key. The error
// is a *damage.Error if the checksum is wrong.
func (t *Tx) Get(bucket, key []byte) ([]byte, error) {
	v := t.tx.Bucket(bucket).Get(key)
	if v == nil {
		return nil, nil
	}
	return OpenValue(bucket, key, v)
}

// Put stores value and its checksum under key. It may use the capacity behind value.
func (t *Tx) Put(bucket, key, value []byte) error {
	return t.tx.Bucket(bucket).Put(key, record.AppendSum(value, bucket, key))
}

// OpenValue returns a raw value of bucket without its checksum. The error is a *damage.Error if the
// checksum is wrong.
func OpenValue(bucket, key, v []byte) ([]byte, error) {
	body, err := record.CutSum(v, bucket, key)
	if err != nil {
		return nil, damage.InValue(bucket, key, err)
	}
	return body, nil
}
