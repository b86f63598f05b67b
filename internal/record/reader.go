package record

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"

	"github.com/rondo-db/rondo/rra"
)

var (
	// ErrParse says that a record does not parse.
	ErrParse = errors.New("log record does not parse")
	// ErrVersion says that another version of rondo wrote the record.
	ErrVersion = errors.New("written by another version of rondo")
	// ErrNewer says that a newer version of rondo wrote the record. It wraps ErrVersion.
	ErrNewer error = &versionError{"written by a newer version of rondo"}

	errOlder error = &versionError{"written by an older version of rondo"}
)

// A versionError is an ErrVersion that says which of both versions is the newer one.
type versionError struct{ text string }

func (e *versionError) Error() string { return e.text }
func (e *versionError) Unwrap() error { return ErrVersion }

// OtherVersion returns the error of bytes of version v, for a program whose newest version is
// known: it wraps [ErrNewer] if v is newer, and [ErrVersion] always.
func OtherVersion(v, known uint64) error {
	if v > known {
		return ErrNewer
	}
	return errOlder
}

// A Reader reads the fields of a record from its front.
type Reader struct {
	Rest []byte // what has not been read; nil after an error
	Err  error  // [ErrParse] once a field did not fit
}

// Fail notes that the record does not parse.
func (r *Reader) Fail() {
	if r.Err == nil {
		r.Err = ErrParse
	}
	r.Rest = nil
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if len(r.Rest) == 0 {
		r.Fail()
		return 0
	}
	c := r.Rest[0]
	r.Rest = r.Rest[1:]
	return c
}

// Uvarint reads what [binary.AppendUvarint] wrote.
func (r *Reader) Uvarint() uint64 {
	if len(r.Rest) > 0 && r.Rest[0] < 0x80 { // most take one byte
		v := r.Rest[0]
		r.Rest = r.Rest[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(r.Rest)
	if n <= 0 {
		r.Fail()
		return 0
	}
	r.Rest = r.Rest[n:]
	return v
}

// Bytes reads n bytes. They are part of the record, not a copy. It returns nil if the record has
// fewer.
func (r *Reader) Bytes(n uint64) []byte {
	if n > uint64(len(r.Rest)) {
		r.Fail()
		return nil
	}
	p := r.Rest[:n]
	r.Rest = r.Rest[n:]
	return p
}

// Uint64 reads eight bytes, lowest first.
func (r *Reader) Uint64() uint64 {
	if p := r.Bytes(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

// Varint reads what [binary.AppendVarint] wrote.
func (r *Reader) Varint() int64 {
	v, n := binary.Varint(r.Rest)
	if n <= 0 {
		r.Fail()
		return 0
	}
	r.Rest = r.Rest[n:]
	return v
}

// Uint16 reads a uvarint and fails if it does not fit into 16 bits.
func (r *Reader) Uint16() uint16 {
	v := r.Uvarint()
	if v > math.MaxUint16 {
		r.Fail()
	}
	return uint16(v)
}

// AppendText appends the length of s and s.
func AppendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// Text is the inverse of [AppendText].
func (r *Reader) Text() string { return string(r.Bytes(r.Uvarint())) }

// AppendTexts appends how many texts there are, then each.
func AppendTexts(dst []byte, texts []string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(texts)))
	for _, t := range texts {
		dst = AppendText(dst, t)
	}
	return dst
}

// Texts is the inverse of [AppendTexts].
func (r *Reader) Texts() []string {
	n := r.Uvarint()
	if n > uint64(len(r.Rest)) {
		r.Fail()
		return nil
	}
	out := make([]string, n)
	for i := range out {
		out[i] = r.Text()
	}
	return out
}

// AppendFloat appends the bits of f, lowest byte first. All NaNs become one, so that equal records
// have equal bytes.
func AppendFloat(dst []byte, f float64) []byte {
	if f != f {
		f = math.NaN()
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
}

// Float is the inverse of [AppendFloat].
func (r *Reader) Float() float64 { return math.Float64frombits(r.Uint64()) }

// MaxTime bounds times on both sides of 1970, so that their sums and differences fit into 64 bits.
const MaxTime = rra.Time(1) << 59

// AppendTime appends t as its distance from base: twice the seconds where both are whole
// seconds, otherwise twice the microseconds plus one.
func AppendTime(dst []byte, t, base rra.Time) []byte {
	if int64(t)%1e6 == 0 && int64(base)%1e6 == 0 {
		return binary.AppendUvarint(dst, Zigzag((int64(t)-int64(base))/1e6)<<1)
	}
	return binary.AppendUvarint(dst, Zigzag(int64(t)-int64(base))<<1|1)
}

// Time is the inverse of [AppendTime]. It fails if the time is beyond [MaxTime].
func (r *Reader) Time(base rra.Time) rra.Time {
	u := r.Uvarint()
	d := Unzigzag(u >> 1)
	if u&1 == 0 {
		d *= 1e6
	}
	t := base + rra.Time(d)
	if t > MaxTime || t < -MaxTime {
		r.Fail()
		return 0
	}
	return t
}

// Zigzag folds signed integers into unsigned ones, so that small ones of either sign stay small: 0,
// -1, 1, -2 become 0, 1, 2, 3.
func Zigzag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

// Unzigzag is the inverse of [Zigzag].
func Unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// UvarintSize returns how many bytes n takes as a uvarint.
func UvarintSize(n int) int { return (bits.Len64(uint64(n)|1) + 6) / 7 }
