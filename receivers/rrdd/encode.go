package rrdd

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/rondo-db/rondo/rra"
)

// Append appends the bytes of f to dst. It is an error if f is larger than MaxFile, if not every
// data source has a value, if a value of type Int64 is no integer, or if a Reader would not read f
// back, because a name occurs twice.
func (f *File) Append(dst []byte) ([]byte, error) {
	switch {
	case len(f.Sources) != len(f.Values):
		return dst, fmt.Errorf("%d values of %d data sources", len(f.Values), len(f.Sources))
	case math.IsNaN(f.Timestamp) || math.IsInf(f.Timestamp, 0):
		return dst, fmt.Errorf("timestamp %v", f.Timestamp)
	}
	b, err := dst, error(nil)
	switch f.Version {
	case 1:
		b, err = f.append1(dst)
	case 0, 2:
		b, err = f.append2(dst)
	default:
		err = fmt.Errorf("version %d, there are 1 and 2", f.Version)
	}
	if err == nil {
		size := int64(len(b) - len(dst))
		_, err = new(Reader).Read(bytes.NewReader(b[len(dst):]), size)
	}
	if err != nil {
		return dst, err
	}
	return b, nil
}

func appendOwner(dst []byte, s *Source) []byte {
	dst = append(dst, s.Owner.String()...)
	if s.Owner != Host || s.UUID != "" {
		dst = append(append(dst, ' '), s.UUID...)
	}
	return dst
}

// bits returns a value as it stands in a file of version 2.
func (s *Source) bits(v rra.Value) (uint64, error) {
	if s.ValueType == Int64 {
		if v.Tag == rra.TagInt || v.Tag == rra.TagUint && v.Bits <= math.MaxInt64 {
			return v.Bits, nil
		}
		return 0, fmt.Errorf("data source %q: value is no 64-bit integer", s.Name)
	}
	switch v.Tag {
	case rra.TagFloat:
		return v.Bits, nil
	case rra.TagInt:
		return math.Float64bits(float64(int64(v.Bits))), nil
	case rra.TagUint:
		return math.Float64bits(float64(v.Bits)), nil
	case rra.TagUnknown:
		return math.Float64bits(math.NaN()), nil
	}
	return 0, fmt.Errorf("data source %q: value is no number", s.Name)
}

func (f *File) append1(dst []byte) ([]byte, error) {
	head := len(dst)
	dst = append(dst, "DATASOURCES\n00000000\n00000000000000000000000000000000\n"...)
	dst = append(dst, `{"timestamp": `...)
	dst = appendNumber(dst, f.Timestamp)
	dst = append(dst, `, "datasources": {`...)
	for i := range f.Sources {
		s := &f.Sources[i]
		dst = s.append(dst, i)
		bits, err := s.bits(f.Values[i])
		if err != nil {
			return nil, err
		}
		dst = append(dst, `, "value": "`...)
		if s.ValueType == Int64 {
			dst = strconv.AppendInt(dst, int64(bits), 10)
		} else {
			dst = appendFloat(dst, math.Float64frombits(bits))
		}
		dst = append(dst, `"}`...)
	}
	dst = append(dst, "}}"...)
	b := dst[head:]
	sum := md5.Sum(b[v1Text:])
	hex.Encode(b[v1Length:], binary.BigEndian.AppendUint32(nil, uint32(len(b)-v1Text)))
	hex.Encode(b[v1Sum:], sum[:])
	return dst, nil
}

func (f *File) append2(dst []byte) ([]byte, error) {
	at, err := timeBits(f.Timestamp)
	if err != nil {
		return nil, err
	}
	head := len(dst)
	dst = append(dst, magic...)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(f.Sources)))
	dst = binary.BigEndian.AppendUint64(dst, at)
	for i := range f.Sources {
		bits, err := f.Sources[i].bits(f.Values[i])
		if err != nil {
			return nil, err
		}
		dst = binary.BigEndian.AppendUint64(dst, bits)
	}
	binary.BigEndian.PutUint32(dst[head+v2DataSum:], crc32.ChecksumIEEE(dst[head+v2Time:]))
	dst = append(dst, 0, 0, 0, 0)
	meta := len(dst)
	dst = append(dst, `{"datasources": {`...)
	for i := range f.Sources {
		dst = append(f.Sources[i].append(dst, i), '}')
	}
	dst = append(dst, "}}"...)
	binary.BigEndian.PutUint32(dst[meta-4:], uint32(len(dst)-meta))
	binary.BigEndian.PutUint32(dst[head+v2MetaSum:], crc32.ChecksumIEEE(dst[meta:]))
	return dst, nil
}

// timeBits returns a timestamp of version 2 as parseTime reads it.
func timeBits(t float64) (uint64, error) {
	b := math.Float64bits(t)
	if parseTime(b) != t {
		b = uint64(int64(t))
		if t >= math.MaxInt64 {
			b = math.MaxInt64
		}
	}
	if parseTime(b) != t {
		return 0, fmt.Errorf("timestamp %v has no place in version 2", t)
	}
	return b, nil
}

// append appends the name and the fields of data source i, without the brace at the end.
func (s *Source) append(dst []byte, i int) []byte {
	if i > 0 {
		dst = append(dst, ", "...)
	}
	u := s.unbounded()
	dst = appendQuoted(dst, s.Name)
	dst = append(dst, `: {"description": `...)
	dst = appendQuoted(dst, s.Description)
	dst = append(dst, `, "owner": `...)
	dst = appendQuoted(dst, string(appendOwner(nil, s)))
	dst = append(dst, `, "value_type": "`...)
	dst = append(dst, s.ValueType.String()...)
	dst = append(dst, `", "type": "`...)
	dst = append(dst, s.Type.String()...)
	dst = append(dst, `", "default": "`...)
	dst = strconv.AppendBool(dst, s.Default)
	dst = append(dst, `", "units": `...)
	dst = appendQuoted(dst, s.Units)
	dst = append(dst, `, "min": "`...)
	dst = appendFloat(dst, u.Min)
	dst = append(dst, `", "max": "`...)
	dst = appendFloat(dst, u.Max)
	dst = append(dst, '"')
	if s.Transform != Identity {
		dst = append(dst, `, "transform": "`...)
		dst = append(dst, s.Transform.String()...)
		dst = append(dst, '"')
	}
	return dst
}

// appendFloat writes x as every reader accepts it in a text: "nan", "inf", "-inf", or the shortest
// decimal number that is x.
func appendFloat(dst []byte, x float64) []byte {
	switch {
	case math.IsNaN(x):
		return append(dst, "nan"...)
	case math.IsInf(x, 1):
		return append(dst, "inf"...)
	case math.IsInf(x, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, x, 'g', -1, 64)
}

// appendNumber writes a number of JSON, without an exponent if that is not long.
func appendNumber(dst []byte, x float64) []byte {
	if math.Abs(x) < 1e18 {
		return strconv.AppendFloat(dst, x, 'f', -1, 64)
	}
	return strconv.AppendFloat(dst, x, 'e', -1, 64)
}

// appendQuoted writes a string of JSON.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < 0x20:
			dst = append(dst, `\u00`...)
			dst = hex.AppendEncode(dst, []byte{byte(r)})
		default:
			dst = utf8.AppendRune(dst, r) // U+FFFD for what is no text
		}
	}
	return append(dst, '"')
}
