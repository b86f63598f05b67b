package record

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// Every value of the database ends with a checksum of the bucket, the key and the value. It finds a
// value that has changed, and one that stands under another key. Row blocks have several checksums:
// see package rowblock. Part of the format.

// Castagnoli is the polynomial of all checksums.
var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// SumSize is how many bytes a checksum takes.
const SumSize = 4

// What [CutSum] finds wrong.
var (
	ErrSum   = errors.New("checksum does not match")
	ErrShort = errors.New("cut short")
)

// Sum returns the checksum of a value of a bucket.
func Sum(bucket, key, value []byte) uint32 {
	sum := crc32.Update(0, Castagnoli, bucket)
	sum = crc32.Update(sum, Castagnoli, zeroByte)
	sum = crc32.Update(sum, Castagnoli, key)
	return crc32.Update(sum, Castagnoli, value)
}

var zeroByte = []byte{0} // between the name of a bucket and a key

// AppendSum appends the checksum that value has under key in bucket.
func AppendSum(value, bucket, key []byte) []byte {
	return binary.LittleEndian.AppendUint32(value, Sum(bucket, key, value))
}

// CutSum returns a stored value without the checksum at its end. It returns [ErrSum] if the
// checksum does not match and [ErrShort] if the value is shorter than one.
func CutSum(v, bucket, key []byte) ([]byte, error) {
	n := len(v) - SumSize
	if n < 0 {
		return nil, ErrShort
	}
	if Sum(bucket, key, v[:n]) != binary.LittleEndian.Uint32(v[n:]) {
		return nil, ErrSum
	}
	return v[:n:n], nil
}
