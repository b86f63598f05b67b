package rrdfile

import (
	"bytes"
	"io"
	"strings"

	"golang.org/x/text/encoding/unicode"
)

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
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		x.wide(b[2:], unicode.LittleEndian)
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		x.wide(b[2:], unicode.BigEndian)
	case bytes.HasPrefix(b, []byte("<\x00")):
		x.wide(b, unicode.LittleEndian)
	case bytes.HasPrefix(b, []byte("\x00<")):
		x.wide(b, unicode.BigEndian)
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
func (x *xmlReader) wide(b []byte, order unicode.Endianness) {
	in := io.MultiReader(bytes.NewReader(bytes.Clone(b)), x.in)
	x.in = unicode.UTF16(order, unicode.IgnoreBOM).NewDecoder().Reader(in)
	x.pos, x.end, x.readErr = 0, 0, nil
	x.ahead(xmlAhead)
}
