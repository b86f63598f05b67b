package rrdfile

import (
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// validate ends the document before what is no UTF-8. Everything before from is.
func (x *xmlReader) validate(from int) {
	for b := x.buf[from:x.end]; len(b) > 0; {
		if b[0] < utf8.RuneSelf {
			n := 1
			for n < len(b) && b[n] < utf8.RuneSelf {
				n++
			}
			b = b[n:]
			continue
		}
		r, n := utf8.DecodeRune(b)
		switch {
		// the rest of it is still to come
		case r == utf8.RuneError && n == 1 && !utf8.FullRune(b) && x.readErr == nil:
			x.tail = len(b)
			x.end -= len(b)
			return
		case r == utf8.RuneError && n == 1:
			x.bad = "Input is not proper UTF-8, indicate encoding ! Bytes:"
			for _, c := range b[:min(len(b), 4)] {
				x.bad += fmt.Sprintf(" 0x%02X", c)
			}
		case r == 0xfffe || r == 0xffff:
			x.bad = fmt.Sprintf("PCDATA invalid Char value %d", r)
		default:
			b = b[n:]
			continue
		}
		x.end -= len(b)
		x.readErr = io.EOF
		return
	}
}

// A utf16Reader gives UTF-16 back as UTF-8.
type utf16Reader struct {
	in     io.Reader
	little bool
	raw    [4096]byte
	n      int // bytes of raw
	out    []byte
	err    error
}

func (r *utf16Reader) Read(p []byte) (int, error) {
	for len(r.out) == 0 && r.err == nil {
		var k int
		k, r.err = r.in.Read(r.raw[r.n:])
		r.n += k
		r.convert()
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	if n > 0 {
		return n, nil
	}
	return 0, r.err
}

// convert takes what is whole from raw.
func (r *utf16Reader) convert() {
	r.out = r.out[:0]
	unit := func(i int) rune {
		if r.little {
			return rune(r.raw[i]) | rune(r.raw[i+1])<<8
		}
		return rune(r.raw[i])<<8 | rune(r.raw[i+1])
	}
	i := 0
	for ; i+2 <= r.n; i += 2 {
		c := unit(i)
		if utf16.IsSurrogate(c) {
			if i+4 > r.n {
				break
			}
			i += 2
			c = utf16.DecodeRune(c, unit(i))
		}
		r.out = utf8.AppendRune(r.out, c)
	}
	r.n = copy(r.raw[:], r.raw[i:r.n])
}
