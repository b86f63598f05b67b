package rrdfile

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A utf16Reader converts UTF-16 to UTF-8.
type utf16Reader struct {
	in     io.Reader
	little bool // the byte order is little-endian
	raw    [4096]byte
	n      int    // bytes in raw
	out    []byte // UTF-8 that was not read yet
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

// convert converts the complete characters in raw.
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

// start finds the encoding, from a byte order mark or from the declaration.
func (x *xmlReader) start() {
	x.ahead(xmlAhead)
	x.started = true
	defer func() { // the encoding is known now, so the bytes in the buffer can be checked
		if !x.latin1 && x.err == nil {
			x.validate(x.pos)
		}
	}()
	b := x.buf[x.pos:x.end]
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		x.pos += 3
	case bytes.HasPrefix(b, []byte("\xff\xfe")), bytes.HasPrefix(b, []byte("\xfe\xff")):
		x.wide(b[2:], b[0] == 0xff)
	case bytes.HasPrefix(b, []byte("<\x00")), bytes.HasPrefix(b, []byte("\x00<")):
		x.wide(b, b[0] == '<')
	}
	b = x.buf[x.pos:x.end]
	if !bytes.HasPrefix(b, []byte("<?xml")) {
		return
	}
	b, _, ends := bytes.Cut(b, []byte("?>"))
	if !ends {
		return // an error when it is skipped
	}
	_, b, found := bytes.Cut(b, []byte("encoding"))
	b = bytes.TrimLeft(b, " \t\r\n=")
	if !found || len(b) == 0 {
		return
	}
	name, _, _ := bytes.Cut(b[1:], b[:1])
	switch strings.ToLower(string(name)) {
	case "utf-8", "us-ascii", "ascii", "utf-16", "utf-16le", "utf-16be", "utf-16-le", "utf-16-be":
	case "iso-8859-1", "latin1":
		x.latin1 = true
	default:
		x.broken("Unsupported encoding %.40s", name)
	}
}

// wide continues in UTF-16, beginning with b, which is a part of the buffer.
func (x *xmlReader) wide(b []byte, little bool) {
	x.in = &utf16Reader{in: io.MultiReader(bytes.NewReader(bytes.Clone(b)), x.in), little: little}
	x.pos, x.end, x.readErr = 0, 0, nil
	x.ahead(xmlAhead)
}
