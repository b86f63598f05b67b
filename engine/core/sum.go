package core

import (
	"encoding/binary"
	"hash/crc32"

	bolt "go.etcd.io/bbolt"
)

// Every value of the database ends with a checksum that covers the bucket, the key and the value, so
// that a value that stands under another key is noticed as well as one that has changed. Row blocks
// have several: see block.go. Part of the format.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const sumSize = 4

// valueSum is the checksum of a value of a bucket.
func valueSum(bucket, key, value []byte) uint32 {
	sum := crc32.Update(0, castagnoli, bucket)
	sum = crc32.Update(sum, castagnoli, zeroByte)
	sum = crc32.Update(sum, castagnoli, key)
	return crc32.Update(sum, castagnoli, value)
}

var zeroByte = []byte{0} // between the name of a bucket and a key

// appendSum adds the checksum to a value of a bucket.
func appendSum(value, bucket, key []byte) []byte {
	return binary.LittleEndian.AppendUint32(value, valueSum(bucket, key, value))
}

// cutSum returns a stored value without the checksum at its end, if that is right.
func cutSum(v, bucket, key []byte) ([]byte, error) {
	n := len(v) - sumSize
	if n < 0 {
		return nil, errShort
	}
	if valueSum(bucket, key, v[:n]) != binary.LittleEndian.Uint32(v[n:]) {
		return nil, errSum
	}
	return v[:n:n], nil
}

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
	body, err := cutSum(v, bucket, key)
	if err != nil {
		return nil, damagedValue(bucket, key, err)
	}
	return body, nil
}

// putValue puts a value with its checksum. Room behind value may be used for it.
func putValue(tx *bolt.Tx, bucket, key, value []byte) error {
	return tx.Bucket(bucket).Put(key, appendSum(value, bucket, key))
}
