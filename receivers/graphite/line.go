package graphite

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/decimal"
)

// A Point is one value of one name. Name points into the bytes that were read.
type Point struct {
	Name  []byte
	Value float64
	Time  int64 // whole seconds since 1970
}

const (
	// MaxName is the length of the longest name, with its tags, in bytes.
	MaxName = 2048
	// MaxLine is the length of the longest line, in bytes.
	MaxLine = 8192
	// maxSecond bounds the times that are read: the year 36812.
	maxSecond = 1 << 40
)

// The errors of a point.
var (
	errFields  = &receivers.Error{Reason: receivers.Malformed, What: "a line is no PATH VALUE TIME"}
	errName    = &receivers.Error{Reason: receivers.Limit, What: "a name is longer than 2048 bytes"}
	errValue   = &receivers.Error{Reason: receivers.Malformed, What: "a value is no number"}
	errUnknown = &receivers.Error{Reason: receivers.State, What: "a value is NaN or infinite"}
	errTime    = &receivers.Error{Reason: receivers.Malformed, What: "a time is no number of seconds"}
	errLong    = &receivers.Error{Reason: receivers.Limit, What: "a line is longer than 8192 bytes"}
)

// ParseLine reads a line without its line feed: PATH VALUE TIME, with spaces or tabs between them.
// now is the second that a TIME of N or -1 stands for. The errors are shared: do not change them.
func ParseLine(line []byte, now int64) (Point, *receivers.Error) {
	var p Point
	if len(line) > MaxLine {
		return p, errLong
	}
	var value, at, rest []byte
	p.Name, rest = field(line)
	value, rest = field(rest)
	at, rest = field(rest)
	if len(at) == 0 || len(trimLeft(rest)) > 0 {
		return p, errFields
	}
	if len(p.Name) > MaxName {
		return p, errName
	}
	var err *receivers.Error
	if p.Value, err = parseValue(value); err != nil {
		return p, err
	}
	p.Time, err = parseTime(at, now)
	return p, err
}

// blank reports whether a line has nothing but spaces.
func blank(line []byte) bool { return len(trimLeft(line)) == 0 }

func isSpace(c byte) bool { return c == ' ' || c-'\t' <= '\r'-'\t' }

func trimLeft(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	return b
}

// field returns the first word of b and what follows it.
func field(b []byte) (word, rest []byte) {
	b = trimLeft(b)
	for i := 0; ; i++ {
		if i = low(b, i); i == len(b) || isSpace(b[i]) {
			return b[:i], b[i:]
		}
	}
}

// low returns the place of the first byte of b at or behind i that is a space or below; len(b):
// there is none. It looks at eight bytes at once.
func low(b []byte, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; len(b)-i >= 8; i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		// The lowest top bit set here belongs to the first byte below '!'. Bits above it may be set
		// by what that byte has borrowed.
		if m := (w - ones*'!') &^ w & tops; m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for ; i < len(b); i++ {
		if b[i] <= ' ' {
			break
		}
	}
	return i
}

// parseValue reads a value. One that is no finite number is an error.
func parseValue(text []byte) (float64, *receivers.Error) {
	v, ok := decimal.Parse(text)
	switch {
	case !ok:
		return 0, errValue
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, errUnknown
	}
	return v, nil
}

// parseTime reads a time in seconds since 1970, and cuts off the part behind the point. now is the
// time for N and -1.
func parseTime(text []byte, now int64) (int64, *receivers.Error) {
	second, ok := decimal.Digits(text)
	if ok {
		return second, nil
	}
	if string(text) == "N" {
		return now, nil
	}
	v, ok := decimal.Parse(text)
	if !ok {
		return 0, errTime
	}
	return secondOf(v, now)
}

// secondOf returns the whole second of a time; -1 stands for now.
func secondOf(v float64, now int64) (int64, *receivers.Error) {
	switch {
	case v == -1:
		return now, nil
	case !(math.Abs(v) <= maxSecond):
		return 0, errTime
	}
	return int64(v), nil
}
