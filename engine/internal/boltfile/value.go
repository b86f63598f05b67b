package boltfile

import (
	"bytes"

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

// Decode checks a raw value of bucket and decodes it. The error is a *damage.Error, and seen notes
// it.
func Decode[T any](seen *damage.Seen, bucket, key, v []byte, decode func(b []byte) (T, error)) (x T, err error) {
	b, err := record.CutSum(v, bucket, key)
	if err == nil {
		if x, err = decode(b); err == nil {
			return x, nil
		}
	}
	e := damage.InValue(bucket, key, err)
	seen.Note(e)
	return x, e
}

// Find returns the value under a key of the bucket of c, decoded; the zero value where none is.
// A flipped bit in a key leaves its entry where it was, so the entries beside the place of a
// missing key are checked. The error is a *damage.Error, and seen notes it.
func Find[T any](seen *damage.Seen, c *Cursor, bucket, key []byte, decode func(b []byte) (T, error)) (x T, err error) {
	k, v := c.Seek(key)
	if bytes.Equal(k, key) {
		return Decode(seen, bucket, k, v, decode)
	}
	whole := func(b []byte) ([]byte, error) { return b, nil }
	if k != nil {
		_, err = Decode(seen, bucket, k, v, whole)
	}
	if k, v = c.Prev(); k != nil && err == nil {
		_, err = Decode(seen, bucket, k, v, whole)
	}
	return x, err
}
