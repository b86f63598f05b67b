package rrdfile

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// The XML reader knows what a dump needs and no more: elements, whose attributes it ignores, text,
// comments, the five entities, and characters by number. It uses one buffer, whatever the size of
// the document.

// An xmlKind is a kind of token.
type xmlKind uint8

const (
	xmlEnd xmlKind = iota // end of the document
	xmlOpen
	xmlClose
	xmlText // text that is not only blanks
)

// next reads the next token. After an error it returns xmlEnd.
func (x *xmlReader) next() xmlKind {
	if x.empty {
		x.empty = false
		return x.close()
	}
	if !x.started {
		x.start()
	}
	for x.err == nil {
		x.ahead(xmlAhead)
		if x.pos == x.end {
			if len(x.open) > 0 {
				x.brokenOrCut(0, "")
			} else if x.bad != "" || x.cut {
				x.broken("")
			}
			break
		}
		if x.buf[x.pos] != '<' {
			if x.text() {
				return xmlText
			}
			continue
		}
		switch b := x.buf[x.pos:x.end]; {
		case len(b) > 1 && b[1] == '/':
			return x.closing()
		case bytes.HasPrefix(b, []byte("<!--")):
			x.skip(4, "-->")
		case bytes.HasPrefix(b, []byte("<![CDATA[")):
			x.skip(9, "]]>") // rrdtool ignores it
		case bytes.HasPrefix(b, []byte("<?")):
			x.skip(2, "?>")
		case bytes.HasPrefix(b, []byte("<!")):
			x.skipType()
		default:
			return x.opening()
		}
	}
	return xmlEnd
}

// skip skips n bytes and everything up to the text end.
func (x *xmlReader) skip(n int, end string) {
	x.pos += n
	for {
		b := x.buf[x.pos:x.end]
		if i := bytes.Index(b, []byte(end)); i >= 0 {
			x.line += bytes.Count(b[:i], []byte{'\n'})
			x.pos += i + len(end)
			return
		}
		if x.readErr != nil {
			x.pos = x.end
			x.brokenOrCut(0, "the document ends before %s", end)
			return
		}
		// The last bytes may be the beginning of the text end.
		n := max(0, len(b)-len(end)+1)
		x.line += bytes.Count(b[:n], []byte{'\n'})
		x.pos += n
		x.ahead(xmlAhead)
	}
}

// skipType skips a document type with its declarations.
func (x *xmlReader) skipType() {
	quote, depth := byte(0), 0
	for {
		if x.ahead(1); x.pos == x.end {
			x.brokenOrCut(0, "the document type does not end")
			return
		}
		if quote == 0 && x.buf[x.pos] == '<' {
			x.ahead(4)
			switch b := x.buf[x.pos:x.end]; {
			case bytes.HasPrefix(b, []byte("<!--")):
				x.skip(4, "-->")
				continue
			case bytes.HasPrefix(b, []byte("<?")):
				x.skip(2, "?>")
				continue
			}
		}
		c := x.buf[x.pos]
		x.pos++
		switch {
		case c == '\n':
			x.line++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[' || c == '<':
			depth++
		case c == ']':
			depth--
		case c == '>':
			if depth--; depth == 0 {
				return
			}
		}
	}
}

// elements are the names of the elements of a dump.
var elements = func() map[string]string {
	m := make(map[string]string)
	for _, name := range []string{
		"rrd", "version", "step", "lastupdate", "ds", "rra",
		"name", "type", "minimal_heartbeat", "min", "max", "cdef", "last_ds", "value", "unknown_sec",
		"cf", "pdp_per_row", "xff", "params", "cdp_prep", "database", "row", "v",
		"hw_alpha", "hw_beta", "dependent_rra_idx", "seasonal_gamma", "seasonal_smooth_idx", "smoothing_window",
		"failure_threshold", "delta_pos", "delta_neg", "window_len",
		"primary_value", "secondary_value", "unknown_datapoints", "intercept", "last_intercept", "slope", "last_slope",
		"nan_count", "last_nan_count", "seasonal", "last_seasonal", "init_flag", "history",
	} {
		m[name] = name
	}
	return m
}()

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// readName reads a name, without allocation if it is one of elements.
func (x *xmlReader) readName() string {
	b := x.buf[x.pos:x.end]
	n := 0
	for n < len(b) && !isBlank(b[n]) && b[n] != '>' && b[n] != '/' && b[n] != '<' {
		n++
	}
	x.pos += n
	if name, ok := elements[string(b[:n])]; ok {
		return name
	}
	if n == 0 || n == len(b) || b[0] < 'A' {
		x.brokenOrCut(0, "StartTag: invalid element name")
	}
	return string(b[:min(n, 100)])
}

// opening reads <name …> or <name …/>.
func (x *xmlReader) opening() xmlKind {
	x.pos++
	name := x.readName()
	if x.err != nil {
		return xmlEnd
	}
	quote := byte(0)
	for {
		if x.pos == x.end {
			if x.ahead(xmlAhead); x.pos == x.end {
				x.brokenOrCut(0, "Couldn't find end of Start Tag %s", name)
				return xmlEnd
			}
		}
		c := x.buf[x.pos]
		x.pos++
		switch {
		case c == '\n':
			x.line++
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case c == '"' || c == '\'':
			quote = c
		case c == '<':
			x.broken("Couldn't find end of Start Tag %s", name)
			return xmlEnd
		case c == '/':
			x.empty = true
		case c == '>':
			if len(x.open) >= 16 {
				x.broken("elements are nested too deep")
				return xmlEnd
			}
			x.open = append(x.open, name)
			x.name = name
			return xmlOpen
		default:
			x.empty = false
		}
	}
}

// closing reads </name>.
func (x *xmlReader) closing() xmlKind {
	x.pos += 2
	name := x.readName()
	for x.pos < x.end && isBlank(x.buf[x.pos]) {
		if x.buf[x.pos] == '\n' {
			x.line++
		}
		x.pos++
	}
	switch {
	case x.err != nil:
		return xmlEnd
	case x.pos == x.end || x.buf[x.pos] != '>':
		x.brokenOrCut(0, "expected '>'")
		return xmlEnd
	case len(x.open) == 0 || x.open[len(x.open)-1] != name:
		x.broken("Opening and ending tag mismatch: %s", name)
		return xmlEnd
	}
	x.pos++
	return x.close()
}

func (x *xmlReader) close() xmlKind {
	x.name = x.open[len(x.open)-1]
	x.open = x.open[:len(x.open)-1]
	return xmlClose
}

// text reads text up to the next element or comment, and reports whether it is more than blanks. It
// keeps the first word.
func (x *xmlReader) text() bool {
	x.word, x.rest = x.word[:0], x.rest[:0]
	const before, inside, behind = 0, 1, 2
	state := before
	for x.err == nil {
		if x.pos == x.end {
			if x.ahead(xmlAhead); x.pos == x.end {
				break
			}
		}
		c := x.buf[x.pos]
		if c == '<' {
			break
		}
		from := len(x.word)
		switch {
		case isBlank(c):
			if c == '\n' {
				x.line++
			}
			x.pos++
			if state == inside {
				state = behind
			}
			if state != before {
				x.rest = appendSome(x.rest, c)
			}
			continue
		case c == '&':
			x.reference()
		case c < ' ':
			x.broken("PCDATA invalid Char value %d", c)
		case c >= 0x80 && x.latin1:
			x.word = utf8.AppendRune(x.word, rune(c))
			x.pos++
		default:
			x.word = append(x.word, c)
			x.pos++
		}
		if state == before {
			state = inside
		}
		x.rest = appendSome(x.rest, x.word[from:]...)
		if state == behind || len(x.word) > xmlAhead {
			x.word = x.word[:from]
		}
	}
	return state != before && x.err == nil
}

// appendSome appends b to a text for messages, up to about 100 bytes.
func appendSome(dst []byte, b ...byte) []byte {
	if len(dst) > 100 {
		return dst
	}
	return append(dst, b...)
}

// reference reads &name; and appends the character that it stands for to the word.
func (x *xmlReader) reference() {
	x.ahead(xmlAhead)
	b := x.buf[x.pos:x.end]
	n := bytes.IndexByte(b[:min(len(b), 32)], ';')
	if n < 0 {
		x.brokenOrCut(32, "EntityRef: expecting ';'")
		return
	}
	name := string(b[1:n])
	x.pos += n + 1
	switch name {
	case "amp":
		x.word = append(x.word, '&')
	case "lt":
		x.word = append(x.word, '<')
	case "gt":
		x.word = append(x.word, '>')
	case "quot":
		x.word = append(x.word, '"')
	case "apos":
		x.word = append(x.word, '\'')
	default:
		digits, ok := strings.CutPrefix(name, "#")
		base := 10
		if hex, isHex := strings.CutPrefix(digits, "x"); isHex {
			digits, base = hex, 16
		}
		v, err := strconv.ParseUint(digits, base, 32)
		switch {
		case !ok:
			x.broken("Entity '%s' not defined", name)
		case err != nil || v < ' ' && (v >= 0x80 || !isBlank(byte(v))) || v > utf8.MaxRune:
			x.broken("xmlParseCharRef: invalid xmlChar value %s", digits)
		default:
			x.word = utf8.AppendRune(x.word, rune(v))
		}
	}
}

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
