package rrdfile

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
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
