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

func constant(v value) instruction {
	return func(u *Unpickler) *receivers.Error { return u.pushed(v, nil) }
}

// unsigned is the instruction that takes an unsigned integer of n bytes.
func unsigned(n uint64) instruction {
	return func(u *Unpickler) *receivers.Error {
		x, err := u.uint(n)
		return u.pushed(value{kind: kindInt, n: x}, err)
	}
}

func (u *Unpickler) float() *receivers.Error {
	b, err := u.take(8)
	if err != nil {
		return err
	}
	return u.pushed(value{kind: kindFloat, n: binary.BigEndian.Uint64(b)}, nil)
}

// long is the instruction that takes an integer of any length: a size of width bytes, and so many
// bytes.
func long(width uint64) instruction {
	return func(u *Unpickler) *receivers.Error {
		size, err := u.uint(width)
		if err != nil {
			return err
		}
		return u.signed(size)
	}
}

// signed takes an integer of size bytes, the lowest first.
func (u *Unpickler) signed(size uint64) *receivers.Error {
	b, err := u.take(size)
	if err != nil {
		return err
	}
	negative := len(b) > 0 && b[len(b)-1] >= 0x80
	if len(b) > 8 {
		return u.pushed(value{kind: kindFloat, n: math.Float64bits(largeNumber(b, negative))}, nil)
	}
	var all [8]byte
	if negative {
		all = [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	}
	copy(all[:], b)
	return u.pushed(value{kind: kindInt, n: binary.LittleEndian.Uint64(all[:])}, nil)
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

// decimals is the instruction that takes a number in decimal digits on a line, which may end in a
// suffix.
func decimals(suffix string, float bool) instruction {
	return func(u *Unpickler) *receivers.Error {
		line, err := u.line()
		if err != nil {
			return err
		}
		line = bytes.TrimSuffix(line, []byte(suffix))
		if !float && len(line) <= decimal.MaxNumber {
			if n, err := strconv.ParseInt(string(line), 10, 64); err == nil {
				return u.pushed(value{kind: kindInt, n: uint64(n)}, nil)
			}
		}
		n, ok := decimal.Parse(line)
		if !ok {
			return u.fault(receivers.Malformed, "%.20q is no number", line)
		}
		return u.pushed(value{kind: kindFloat, n: math.Float64bits(n)}, nil)
	}
}

// sized is the instruction that takes a text behind its length in n bytes.
func sized(n uint64) instruction {
	return func(u *Unpickler) *receivers.Error {
		size, err := u.uint(n)
		if err != nil {
			return err
		}
		at := u.at
		_, err = u.take(size)
		return u.pushed(value{kind: kindText, size: uint32(size), n: uint64(at)}, err)
	}
}

// quoted is the instruction that takes a text on a line: in quotes as Python 2 writes it, or with
// \uXXXX.
func quoted(unicode bool) instruction {
	return func(u *Unpickler) *receivers.Error {
		at := u.at
		line, err := u.line()
		switch {
		case err != nil:
			return err
		case unicode:
			return u.escaped(line, true)
		}
		if n := len(line); n < 2 || line[0] != line[n-1] || line[0] != '\'' && line[0] != '"' {
			return u.fault(receivers.Malformed, "a text is not in quotes")
		}
		if line = line[1 : len(line)-1]; bytes.IndexByte(line, '\\') < 0 {
			return u.pushed(value{kind: kindText, size: uint32(len(line)), n: uint64(at + 1)}, nil)
		}
		return u.escaped(line, false)
	}
}

// escaped takes a text with backslashes in it.
func (u *Unpickler) escaped(line []byte, unicode bool) *receivers.Error {
	from := len(u.text)
	for len(line) > 0 {
		if line[0] != '\\' || unicode && (len(line) < 2 || line[1] != 'u' && line[1] != 'U') {
			if unicode { // its bytes are the characters U+0000 to U+00FF
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
	return u.pushed(value{kind: kindOwn, size: uint32(len(u.text) - from), n: uint64(from)}, nil)
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
