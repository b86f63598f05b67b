package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/rondo-db/rondo/rra"
)

// What the log holds is described in docs/format.md. A record begins with its
// kind. A record of samples is runs: samples of one group at one time, or one
// update command for one series. Values are coded against the last logged value
// of their source, accepted or not, which is part of the group's state.

// The kinds of records are part of the format.
const (
	recordSamples  = 1
	recordCreate   = 2
	recordDrop     = 3
	recordRename   = 4
	recordNote     = 5
	recordSettings = 6
	recordBarrier  = 7
	recordMetadata = 8
	recordRelabel  = 9
	recordImport   = 10
)

// The kinds of runs are part of the format.
const (
	runSamples = 0 // samples at one time
	runCommand = 1 // an update command: samples of one series, then its end
	runFlush   = 2 // let the held samples of one series go
)

// The modes of a value are part of the format: the two low bits of its varint.
const (
	modeInteger = 0 // difference of two integers, zigzag
	modeHundred = 1 // difference of two multiples of a hundredth, zigzag
	modeXOR     = 2 // bytes of the exclusive or
	modeWhole   = 3 // a tag, then the value itself
)

var errRecord = errors.New("log record does not parse")

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

const maxExact = 1 << 53

// integral returns f as an integer if the two are equal, -0 excepted.
func integral(f float64) (int64, bool) {
	i := int64(f)
	return i, float64(i) == f && i > -maxExact && i < maxExact && (i != 0 || math.Float64bits(f) == 0)
}

// hundredths returns the integer i for which i/100 is f, bit for bit. The difference of two is exact in a double.
func hundredths(f float64) (int64, bool) {
	x := math.RoundToEven(f * 100)
	if !(x > -maxExact/2 && x < maxExact/2) || x/100 != f || (x == 0 && math.Float64bits(f) != 0) {
		return 0, false
	}
	return int64(x), true
}

// appendValue codes v against the value (bits, tag) before it, which it replaces.
func appendValue(dst []byte, v rra.Value, texts []string, prev *uint64, tag *uint8) []byte {
	if uint8(v.Tag) != *tag {
		return appendWhole(dst, v, texts, prev, tag)
	}
	old := *prev
	switch v.Tag {
	case rra.TagInt, rra.TagUint:
		d := zigzag(int64(v.Bits - old))
		if d >= 1<<60 {
			return appendWhole(dst, v, texts, prev, tag)
		}
		*prev = v.Bits
		return appendDifference(dst, d<<2|modeInteger)
	case rra.TagFloat:
		if v.Bits == old {
			return append(dst, modeInteger)
		}
		*prev = v.Bits
		f, g := math.Float64frombits(v.Bits), math.Float64frombits(old)
		if a, ok := integral(f); ok {
			if b, ok := integral(g); ok {
				return appendDifference(dst, zigzag(a-b)<<2|modeInteger)
			}
		}
		if a, ok := hundredths(f); ok {
			if b, ok := hundredths(g); ok {
				return appendDifference(dst, zigzag(a-b)<<2|modeHundred)
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

// appendWhole codes v by itself. Unknown and text leave the value before as it was.
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

// A reader takes a record apart; err is set by the first thing that does not fit.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail() {
	if r.err == nil {
		r.err = errRecord
	}
	r.b = nil
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) uvarint() uint64 {
	if len(r.b) > 0 && r.b[0] < 0x80 { // most take one byte
		v := r.b[0]
		r.b = r.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}

func (r *reader) uint64() uint64 {
	if p := r.bytes(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

func (r *reader) string() string { return string(r.bytes(r.uvarint())) }

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// value decodes one value, the inverse of appendValue. Texts are appended to texts.
func (r *reader) value(texts *[]string, prev *uint64, tag *uint8) rra.Value {
	if len(r.b) > 0 && r.b[0]&3 == modeXOR {
		c := r.byte()
		trail, size := uint(c>>5), uint(c>>2&7)+1
		var x uint64
		for i, b := range r.bytes(uint64(size)) {
			x |= uint64(b) << (8 * uint(i))
		}
		*prev ^= x << (8 * trail)
		return rra.Value{Bits: *prev, Tag: rra.TagFloat}
	}
	u := r.uvarint()
	d := unzigzag(u >> 2)
	switch u & 3 {
	case modeInteger:
		if *tag == uint8(rra.TagFloat) {
			if d != 0 {
				*prev = math.Float64bits(float64(int64(math.Float64frombits(*prev)) + d))
			}
		} else {
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
		*texts = append(*texts, r.string())
	case rra.TagInt, rra.TagUint, rra.TagFloat:
		v.Bits = r.uint64()
		*prev, *tag = v.Bits, uint8(v.Tag)
	default:
		r.fail()
	}
	return v
}

// Times are whole seconds where they are, doubled; else microseconds, doubled plus one.
func appendTime(dst []byte, t, base rra.Time) []byte {
	if int64(t)%1e6 == 0 && int64(base)%1e6 == 0 {
		return binary.AppendUvarint(dst, zigzag((int64(t)-int64(base))/1e6)<<1)
	}
	return binary.AppendUvarint(dst, zigzag(int64(t)-int64(base))<<1|1)
}

func (r *reader) time(base rra.Time) rra.Time {
	u := r.uvarint()
	d := unzigzag(u >> 1)
	if u&1 == 0 {
		d *= 1e6
	}
	t := base + rra.Time(d)
	if t > maxTime || t < -maxTime {
		r.fail()
		return 0
	}
	return t
}

func recordError(kind string, at uint64) error {
	return fmt.Errorf("%s at log position %d: %w", kind, at, errRecord)
}
