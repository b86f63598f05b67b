package rrdfile

import (
	"fmt"
	"io"
	"unicode/utf8"
)

const (
	xmlBuffer = 64 << 10
	xmlAhead  = 4 << 10 // bytes of the longest name or word
)

// An xmlReader reads the tokens of a document one after the other.
type xmlReader struct {
	in       io.Reader
	buf      []byte
	pos, end int // the bytes of buf that were not read yet
	tail     int // bytes behind end that are the beginning of a character
	line     int
	readErr  error // the error, or the end, of in
	err      error // the first error of all
	started  bool  // the encoding is known
	latin1   bool
	bad      string // why readErr was set: bytes that are not UTF-8
	cut      bool   // the document ends within a character

	name  string   // of the element that was opened or closed last
	empty bool     // the element is <name/>: the next token is its end
	word  []byte   // the first word of the text
	rest  []byte   // the beginning of the text, for messages
	open  []string // names of the elements that are open
}

func newXMLReader(r io.Reader) *xmlReader {
	return &xmlReader{in: r, buf: make([]byte, xmlBuffer), line: 1}
}

// fail sets the error, unless an earlier one is set.
func (x *xmlReader) fail(prefix, format string, args ...any) {
	if x.err == nil {
		x.err = &XMLError{Line: x.line, Err: fmt.Sprintf(format, args...), prefix: prefix}
	}
}

func (x *xmlReader) broken(format string, args ...any) {
	if x.bad != "" && x.end-x.pos < 4 { // the cause is the bytes at which the text seems to end
		format, args = "%s", []any{x.bad}
	} else if x.cut {
		x.early()
		return
	}
	x.fail("", "error reading/parsing XML: "+format, args...)
}

// early sets the error of a document that was cut off. It names the line for rrdtool's users, too.
func (x *xmlReader) early() {
	within := ""
	if n := len(x.open); n > 0 {
		within = ", within <" + x.open[n-1] + ">"
	}
	x.fail("line", "error reading/parsing XML: the document ends too early%s", within)
}

// brokenOrCut is early if a token reaches to the end of the document, and else broken.
func (x *xmlReader) brokenOrCut(n int, format string, args ...any) {
	if x.readErr == io.EOF && x.bad == "" && x.pos+n >= x.end {
		x.early()
		return
	}
	x.broken(format, args...)
}

// ahead reads until n bytes are in the buffer, or the document ends. It may move the bytes that are
// in the buffer.
func (x *xmlReader) ahead(n int) {
	if x.end-x.pos >= n || x.readErr != nil {
		return
	}
	copy(x.buf, x.buf[x.pos:x.end+x.tail])
	x.end -= x.pos
	x.pos = 0
	for empty := 0; x.end < n && x.readErr == nil; {
		from := x.end
		k, err := x.in.Read(x.buf[x.end+x.tail:])
		x.end, x.tail = x.end+x.tail+k, 0
		if empty++; k > 0 {
			empty = 0
		}
		if err == nil && empty == 100 {
			err = io.ErrNoProgress
		}
		if err != nil {
			x.readErr = err
			if err != io.EOF && x.err == nil {
				x.err = err
			}
		}
		if x.started && !x.latin1 {
			x.validate(from)
		}
	}
}

// validate ends the document in front of bytes that are not UTF-8. The bytes before from have been
// checked already.
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
		// the rest of the character has not been read yet
		case r == utf8.RuneError && n == 1 && !utf8.FullRune(b) && x.readErr == nil:
			x.tail = len(b)
			x.end -= len(b)
			return
		case r == utf8.RuneError && n == 1 && !utf8.FullRune(b):
			x.cut = true
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
