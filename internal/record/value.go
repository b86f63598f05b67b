package record

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"math/bits"

	"github.com/rondo-db/rondo/rra"
)

// A value begins with a varint, whose two low bits are the mode. Part of the format.
const (
	modeInteger = 0 // difference of two integers, or of the digits of two decimals, zigzag
	modeHundred = 1 // difference of two multiples of a hundredth, zigzag
	modeXOR     = 2 // bytes of the exclusive or
	modeWhole   = 3 // a tag, then the value itself
)

// maxExact bounds the integers that a double holds exactly.
const maxExact = 1 << 53

// integral returns f as an integer if the two are equal, -0 excepted.
func integral(f float64) (int64, bool) {
	i := int64(f)
	return i, float64(i) == f && i > -maxExact && i < maxExact && (i != 0 || math.Float64bits(f) == 0)
}

// hundredths returns the integer i for which i/100 is f, bit for bit. The difference of two is
// exact in a double.
func hundredths(f float64) (int64, bool) {
	x := math.RoundToEven(f * 100)
	if !(x > -maxExact/2 && x < maxExact/2) || x/100 != f || (x == 0 && math.Float64bits(f) != 0) {
		return 0, false
	}
	return int64(x), true
}

// AppendValues is [AppendValue] for the values of neighbours: what comes before value i is prev[i]
// and tags[i].
func AppendValues(dst []byte, values []rra.Value, texts []string, prev []uint64, tags []uint8) []byte {
	prev, tags = prev[:len(values)], tags[:len(values)]
	for i, v := range values {
		if v.Bits == prev[i] && uint8(v.Tag) == tags[i] && v.Tag-rra.TagInt <= rra.TagFloat-rra.TagInt {
			dst = append(dst, modeInteger)
			continue
		}
		dst = AppendValue(dst, v, texts, &prev[i], &tags[i])
	}
	return dst
}

// AppendValue appends v, coded against the value of the same source before it, whose bits and tag
// are *prev and *tag. It sets those to v, unless v is unknown or a text. A value of a text is an
// index of texts.
func AppendValue(dst []byte, v rra.Value, texts []string, prev *uint64, tag *uint8) []byte {
	if uint8(v.Tag) != *tag {
		return appendWhole(dst, v, texts, prev, tag)
	}
	old := *prev
	switch v.Tag {
	case rra.TagInt, rra.TagUint:
		d := Zigzag(int64(v.Bits - old))
		if d >= 1<<60 {
			return appendWhole(dst, v, texts, prev, tag)
		}
		*prev = v.Bits
		return appendDifference(dst, d<<2|modeInteger)
	case rra.TagDecimal, rra.TagExponent:
		if v.Bits<<(64-rra.PlacesBits) != old<<(64-rra.PlacesBits) {
			return appendWhole(dst, v, texts, prev, tag)
		}
		*prev = v.Bits
		return appendDifference(dst, Zigzag(int64(v.Bits-old)>>rra.PlacesBits)<<2|modeInteger)
	case rra.TagFloat:
		if v.Bits == old {
			return append(dst, modeInteger)
		}
		*prev = v.Bits
		f, g := math.Float64frombits(v.Bits), math.Float64frombits(old)
		if a, ok := integral(f); ok {
			if b, ok := integral(g); ok {
				return appendDifference(dst, Zigzag(a-b)<<2|modeInteger)
			}
		}
		if a, ok := hundredths(f); ok {
			if b, ok := hundredths(g); ok {
				return appendDifference(dst, Zigzag(a-b)<<2|modeHundred)
			}
		}
		x := v.Bits ^ old
		trail := uint(bits.TrailingZeros64(x)) / 8
		size := uint(bits.Len64(x)+7)/8 - trail
		dst = append(dst, byte(trail<<5|(size-1)<<2|modeXOR))
		dst = binary.LittleEndian.AppendUint64(dst, x>>(8*trail))
		return dst[:len(dst)-8+int(size)]
	}
	return appendWhole(dst, v, texts, prev, tag)
}

// appendDifference is binary.AppendUvarint with a short way for what is common: one to three bytes.
func appendDifference(dst []byte, u uint64) []byte {
	switch {
	case u < 1<<7:
		return append(dst, byte(u))
	case u < 1<<14:
		return append(dst, byte(u)|0x80, byte(u>>7))
	case u < 1<<21:
		return append(dst, byte(u)|0x80, byte(u>>7)|0x80, byte(u>>14))
	}
	return binary.AppendUvarint(dst, u)
}

// appendWhole codes v by itself. Unknown and text leave *prev and *tag as they were.
func appendWhole(dst []byte, v rra.Value, texts []string, prev *uint64, tag *uint8) []byte {
	dst = append(dst, byte(v.Tag)<<2|modeWhole)
	switch v.Tag {
	case rra.TagUnknown:
	case rra.TagText, rra.TagInvalid:
		text := texts[v.Bits]
		dst = binary.AppendUvarint(dst, uint64(len(text)))
		dst = append(dst, text...)
	default:
		dst = binary.LittleEndian.AppendUint64(dst, v.Bits)
		*prev, *tag = v.Bits, uint8(v.Tag)
	}
	return dst
}

// Value reads one value, the inverse of [AppendValue]: *prev and *tag must be what they were there.
// A text is appended to *texts.
func (r *Reader) Value(texts *[]string, prev *uint64, tag *uint8) rra.Value {
	if len(r.Rest) > 0 && r.Rest[0]&3 == modeXOR {
		var low [8]byte
		c := r.Byte()
		copy(low[:], r.Bytes(uint64(c>>2&7)+1))
		*prev ^= binary.LittleEndian.Uint64(low[:]) << (8 * (c >> 5))
		return rra.Value{Bits: *prev, Tag: rra.TagFloat}
	}
	u := r.Uvarint()
	d := Unzigzag(u >> 2)
	switch u & 3 {
	case modeInteger:
		switch rra.Tag(*tag) {
		case rra.TagDecimal, rra.TagExponent:
			*prev += uint64(d) << rra.PlacesBits
		case rra.TagFloat:
			if d != 0 {
				*prev = math.Float64bits(float64(int64(math.Float64frombits(*prev)) + d))
			}
		default:
			*prev += uint64(d)
		}
		return rra.Value{Bits: *prev, Tag: rra.Tag(*tag)}
	case modeHundred:
		x := math.RoundToEven(math.Float64frombits(*prev)*100) + float64(d)
		*prev = math.Float64bits(x / 100)
		return rra.Value{Bits: *prev, Tag: rra.TagFloat}
	}
	v := rra.Value{Tag: rra.Tag(u >> 2)}
	switch v.Tag {
	case rra.TagUnknown:
	case rra.TagText, rra.TagInvalid:
		v.Bits = uint64(len(*texts))
		*texts = append(*texts, r.Text())
	case rra.TagInt, rra.TagUint, rra.TagFloat, rra.TagDecimal, rra.TagExponent:
		v.Bits = r.Uint64()
		*prev, *tag = v.Bits, uint8(v.Tag)
	default:
		r.Fail()
	}
	return v
}

// A log record begins with a byte for its kind. Part of the format.
const (
	KindSamples  = 1
	KindCreate   = 2
	KindDrop     = 3
	KindRename   = 4
	KindNote     = 5
	KindSettings = 6
	KindBarrier  = 7
	KindMetadata = 8
	KindRelabel  = 9
	KindNumbered = 11 // a number, and the record that has it
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
