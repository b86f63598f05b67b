package rrdd

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"strings"

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

func (s *Source) owner() string {
	if s.Owner == Host && s.UUID == "" {
		return s.Owner.String()
	}
	return s.Owner.String() + " " + s.UUID
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
	dst = appendJSON(dst, f.Timestamp)
	dst = append(dst, `, "datasources": {`...)
	for i := range f.Sources {
		s := &f.Sources[i]
		bits, err := s.bits(f.Values[i])
		if err != nil {
			return nil, err
		}
		value := formatFloat(math.Float64frombits(bits))
		if s.ValueType == Int64 {
			value = strconv.FormatInt(int64(bits), 10)
		}
		dst = s.append(dst, i, value)
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
		dst = f.Sources[i].append(dst, i, "")
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

// A sourceText is a data source as it stands in the file.
type sourceText struct {
	Description string `json:"description"`
	Owner       string `json:"owner"`
	ValueType   string `json:"value_type"`
	Type        string `json:"type"`
	Default     string `json:"default"`
	Units       string `json:"units"`
	Min         string `json:"min"`
	Max         string `json:"max"`
	Transform   string `json:"transform,omitempty"`
	Value       string `json:"value,omitempty"` // of version 1
}

// append appends the name and the fields of data source i.
func (s *Source) append(dst []byte, i int, value string) []byte {
	if i > 0 {
		dst = append(dst, ", "...)
	}
	u, transform := s.unbounded(), ""
	if s.Transform != Identity {
		transform = s.Transform.String()
	}
	dst = append(appendJSON(dst, s.Name), ": "...)
	return appendJSON(dst, sourceText{
		s.Description, s.owner(), s.ValueType.String(), s.Type.String(), strconv.FormatBool(s.Default), s.Units,
		formatFloat(u.Min), formatFloat(u.Max), transform, value,
	})
}

func appendJSON(dst []byte, v any) []byte {
	b, _ := json.Marshal(v) // of strings and numbers, which have a form
	return append(dst, b...)
}

// formatFloat writes x as every reader accepts it in a text: "nan", "inf", "-inf", or the shortest
// decimal number that is x.
func formatFloat(x float64) string {
	return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(x, 'g', -1, 64), "+"))
}
