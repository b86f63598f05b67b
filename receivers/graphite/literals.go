package graphite

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/decimal"
)

// stepNumber runs an instruction that makes a number, or None.
func (u *Unpickler) stepNumber(op byte) *receivers.Error {
	v := value{kind: kindInt}
	var err *receivers.Error
	switch op {
	case opNone:
		v.kind = kindNone
	case opTrue:
		v.n = 1
	case opFalse:
	case opBinInt:
		v.n, err = u.uint(4)
		v.n = uint64(int64(int32(v.n)))
	case opBinInt1:
		v.n, err = u.uint(1)
	case opBinInt2:
		v.n, err = u.uint(2)
	case opBinFloat:
		var b []byte
		if b, err = u.take(8); err == nil {
			v = value{kind: kindFloat, n: binary.BigEndian.Uint64(b)}
		}
	case opLong1, opLong4:
		v, err = u.long(op)
	default:
		v, err = u.decimal(op)
	}
	if err != nil {
		return err
	}
	u.push(v)
	return nil
}

// long takes an integer of any length: a size, and so many bytes, the lowest first.
func (u *Unpickler) long(op byte) (value, *receivers.Error) {
	width := uint64(1)
	if op == opLong4 {
		width = 4
	}
	size, err := u.uint(width)
	if err != nil {
		return value{}, err
	}
	b, err := u.take(size)
	if err != nil {
		return value{}, err
	}
	negative := len(b) > 0 && b[len(b)-1] >= 0x80
	if len(b) > 8 {
		return value{kind: kindFloat, n: math.Float64bits(largeNumber(b, negative))}, nil
	}
	var all [8]byte
	if negative {
		all = [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	}
	copy(all[:], b)
	return value{kind: kindInt, n: binary.LittleEndian.Uint64(all[:])}, nil
}

// largeNumber returns an integer of more than 64 bits, which need not be exact.
func largeNumber(b []byte, negative bool) float64 {
	v := 0.0
	for i := len(b) - 1; i >= 0; i-- {
		c := b[i]
		if negative {
			c = ^c
		}
		v = v*256 + float64(c)
	}
	if negative {
		return -v - 1
	}
	return v
}

// decimal takes a number in decimal digits on a line.
func (u *Unpickler) decimal(op byte) (value, *receivers.Error) {
	line, err := u.line()
	if err != nil {
		return value{}, err
	}
	if op == opLong {
		line = bytes.TrimSuffix(line, []byte("L"))
	}
	if op != opFloat && len(line) <= decimal.MaxNumber {
		if n, err := strconv.ParseInt(string(line), 10, 64); err == nil {
			return value{kind: kindInt, n: uint64(n)}, nil
		}
	}
	n, ok := decimal.Parse(line)
	if !ok {
		return value{}, u.fault(receivers.Malformed, "%.20q is no number", line)
	}
	return value{kind: kindFloat, n: math.Float64bits(n)}, nil
}

// quoted takes a text on a line: in quotes as Python 2 writes it, or with \uXXXX.
func (u *Unpickler) quoted(op byte) *receivers.Error {
	at := u.at
	line, err := u.line()
	if err != nil {
		return err
	}
	if op == opString {
		if n := len(line); n < 2 || line[0] != line[n-1] || line[0] != '\'' && line[0] != '"' {
			return u.fault(receivers.Malformed, "a text is not in quotes")
		}
		line, at = line[1:len(line)-1], at+1
		if bytes.IndexByte(line, '\\') < 0 {
			u.push(value{kind: kindText, size: uint32(len(line)), n: uint64(at)})
			return nil
		}
	}
	from := len(u.text)
	for len(line) > 0 {
		if line[0] != '\\' || op == opUnicode && (len(line) < 2 || line[1] != 'u' && line[1] != 'U') {
			if op == opUnicode { // its bytes are the characters U+0000 to U+00FF
				u.text = utf8.AppendRune(u.text, rune(line[0]))
			} else {
				u.text = append(u.text, line[0])
			}
			line = line[1:]
			continue
		}
		n := u.escape(line)
		if n == 0 {
			return u.fault(receivers.Malformed, "a text holds %.10q", line)
		}
		line = line[n:]
	}
	u.push(value{kind: kindOwn, size: uint32(len(u.text) - from), n: uint64(from)})
	return nil
}

// plainEscapes are what one character behind a backslash stands for.
var plainEscapes = map[byte]byte{
	'\\': '\\', '\'': '\'', '"': '"', 'a': 7, 'b': 8, 't': 9, 'n': 10, 'v': 11, 'f': 12, 'r': 13,
}

// escape appends the character that a backslash begins, and returns its length in the line; 0: it
// stands for none.
func (u *Unpickler) escape(line []byte) int {
	if len(line) < 2 {
		return 0
	}
	width := 0
	switch line[1] {
	case 'x':
		width = 2
	case 'u':
		width = 4
	case 'U':
		width = 8
	default:
		c, ok := plainEscapes[line[1]]
		if !ok {
			return 0
		}
		u.text = append(u.text, c)
		return 2
	}
	if len(line) < 2+width {
		return 0
	}
	n, err := strconv.ParseUint(string(line[2:2+width]), 16, 32)
	if err != nil || n > utf8.MaxRune {
		return 0
	}
	if width == 2 {
		u.text = append(u.text, byte(n))
	} else {
		u.text = utf8.AppendRune(u.text, rune(n))
	}
	return 2 + width
}
