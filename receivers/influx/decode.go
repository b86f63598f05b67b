package influx

import (
	"bytes"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// What a line may have at most.
const (
	MaxLine   = 64 << 10 // bytes
	MaxKey    = 8 << 10  // bytes of measurement and tags
	MaxName   = 512      // bytes of a measurement, or of the name of a field
	MaxFields = 4096
)

// A Field is one field of a line. Name points into the input, with its escapes.
type Field struct {
	Name  []byte
	Value rra.Value
	Text  bool // its value is a string; Value is unknown
}

// A Line is one line. All of it is valid until the next call of Decoder.Next.
type Line struct {
	Key    []byte // measurement and tags, as sent
	Fields []Field
	Time   rra.Time
	Timed  bool // the line has a time
}

// An Error says why a line was not read. Its text is as InfluxDB's.
type Error struct {
	Reason receivers.Reason
	Offset int    // of the beginning of the line, in the input
	What   string // what is wrong
	Line   string // the line, or the beginning of a long one
}

func (e *Error) Error() string { return "unable to parse '" + e.Line + "': " + e.What }

// maxQuoted is how much of a line an Error holds, in bytes.
const maxQuoted = 256

// A Decoder reads lines. It allocates nothing for a line that is right.
type Decoder struct {
	unit   Unit
	input  []byte
	whole  bool
	at     int // where the next line begins
	fields []Field
}

// Reset makes the decoder read input, whose times are in the given unit. If whole is false more
// input follows: the last line is not read unless it has ended.
func (d *Decoder) Reset(input []byte, unit Unit, whole bool) {
	d.input, d.unit, d.whole, d.at = input, unit, whole, 0
}

// Rest returns what Next has not read.
func (d *Decoder) Rest() []byte { return d.input[d.at:] }

// Next reads the next line into l. more is false behind the last line. If err is not nil it is an
// *Error, l is not valid, and the line is passed over. Blank lines and comments are passed over.
func (d *Decoder) Next(l *Line) (more bool, err error) {
	for d.at < len(d.input) {
		start := d.at
		end := len(d.input)
		if i := bytes.IndexByte(d.input[start:], '\n'); i >= 0 {
			end = start + i
		}
		if end == len(d.input) && d.waits(start) {
			return false, nil
		}
		text := trimLine(d.input[start:end])
		if len(text) == 0 || text[0] == '#' {
			d.at = min(end+1, len(d.input))
			continue
		}
		reason, what := d.line(l, text)
		if what != "" { // strings may hold line feeds
			end = start + lineEnd(d.input[start:])
			if end == len(d.input) && d.waits(start) {
				return false, nil
			}
			text = trimLine(d.input[start:end])
			reason, what = d.line(l, text)
		}
		d.at = min(end+1, len(d.input))
		if what != "" {
			return true, &Error{Reason: reason, Offset: start, What: what, Line: receivers.Text(text[:min(len(text), maxQuoted)])}
		}
		return true, nil
	}
	return false, nil
}

// waits reports whether the line that begins at start, and whose end is not in the input, may end
// in input that follows.
func (d *Decoder) waits(start int) bool { return !d.whole && len(d.input)-start <= MaxLine }

// lineEnd returns where the first line of b ends if line feeds in strings do not count.
func lineEnd(b []byte) int {
	fields, quoted := false, false
	equals, commas := 0, 0
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '\\' && i+2 < len(b):
			i++
		case c == '\n' && !quoted:
			return i
		case c == ' ':
			fields = true
		case !fields:
		case c == '"' && equals > commas:
			quoted = !quoted
		case c == '=' && !quoted:
			equals++
		case c == ',' && !quoted:
			commas++
		}
	}
	return len(b)
}

// trimLine returns a line without the blanks before it and the carriage return behind it.
func trimLine(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == 0) {
		b = b[1:]
	}
	if n := len(b); n > 0 && b[n-1] == '\r' {
		b = b[:n-1]
	}
	return b
}

// The words are InfluxDB's where it has some.
const (
	errQuotes     = "unbalanced quotes"
	errFields     = "missing fields"
	errFieldKey   = "missing field key"
	errFieldValue = "missing field value"
	errFieldForm  = "invalid field format"
	errNumber     = "invalid number"
	errBool       = "invalid boolean"
	errTime       = "bad timestamp"
	errLong       = "line is too long"
	errKeyLong    = "measurement and tags are too long"
	errFieldLong  = "name of a field is too long"
	errMany       = "too many fields"
)

// line reads one line. what is empty if it is right.
func (d *Decoder) line(l *Line, b []byte) (reason receivers.Reason, what string) {
	if len(b) > MaxLine {
		return receivers.Limit, errLong
	}
	n := bare(b, ' ')
	if n < 0 {
		return receivers.Malformed, errFields
	}
	if n > MaxKey {
		return receivers.Limit, errKeyLong
	}
	l.Key, b = b[:n], skipBlanks(b[n:])
	d.fields = d.fields[:0]
	for {
		if len(d.fields) == MaxFields {
			return receivers.Limit, errMany
		}
		d.fields = append(d.fields, Field{})
		if b, reason, what = d.fields[len(d.fields)-1].read(b, len(d.fields) == 1); what != "" {
			return reason, what
		}
		if len(b) == 0 || b[0] == ' ' {
			break
		}
		if b[0] != ',' {
			return receivers.Malformed, errFieldForm
		}
		b = b[1:]
	}
	l.Fields = d.fields
	b = skipBlanks(b)
	if l.Timed = len(b) > 0; l.Timed {
		var ok bool
		if l.Time, ok = parseTime(b, d.unit); !ok {
			return receivers.Malformed, errTime
		}
	}
	return 0, ""
}

// read reads NAME=VALUE from the beginning of b and returns what follows.
func (f *Field) read(b []byte, first bool) (rest []byte, reason receivers.Reason, what string) {
	i := 0
	for ; i < len(b) && (b[i] != '=' || i > 0 && b[i-1] == '\\'); i++ {
		if (b[i] == ',' || b[i] == ' ') && (i == 0 || b[i-1] != '\\') {
			break
		}
	}
	switch {
	case len(b) == 0 && first:
		return b, receivers.Malformed, errFields
	case i == 0:
		return b, receivers.Malformed, errFieldKey
	case i > MaxName:
		return b, receivers.Limit, errFieldLong
	case i == len(b) || b[i] != '=':
		return b, receivers.Malformed, errFieldForm
	}
	f.Name, b = b[:i], b[i+1:]
	if len(b) == 0 {
		return b, receivers.Malformed, errFieldValue
	}
	n := 0
	switch b[0] {
	case ',', ' ':
		return b, receivers.Malformed, errFieldValue
	case '"':
		if n = stringEnd(b); n == 0 {
			return b, receivers.Malformed, errQuotes
		}
		f.Text = true
	case 't', 'T', 'f', 'F':
		if n = f.bool(b); n == 0 {
			return b, receivers.Malformed, errBool
		}
	default:
		if f.Value, n = parseNumber(b); n == 0 {
			return b, receivers.Malformed, errNumber
		}
	}
	return b[n:], 0, ""
}

// stringEnd returns how long the string is with which b begins; 0: it does not end.
func stringEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// bool reads a truth value, which becomes 1 or 0, and returns its length; 0: b begins otherwise.
func (f *Field) bool(b []byte) int {
	n := 1
	for n < len(b) && b[n] != ',' && b[n] != ' ' {
		n++
	}
	switch string(b[:n]) {
	case "t", "T", "true", "True", "TRUE":
		f.Value = rra.Int(1)
	case "f", "F", "false", "False", "FALSE":
		f.Value = rra.Int(0)
	default:
		return 0
	}
	return n
}

// bare returns where c first stands in b without a backslash before it; -1: nowhere.
func bare(b []byte, c byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(b[at:], c)
		if i < 0 {
			return -1
		}
		if at += i; at == 0 || b[at-1] != '\\' {
			return at
		}
		at++
	}
}
