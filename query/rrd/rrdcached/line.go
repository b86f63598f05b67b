package rrdcached

import (
	"bytes"
)

// MaxLine is how long a request may be, without the line feed at its end.
const MaxLine = 8191

var blank, zero = []byte{' '}, []byte{0}

// untilZero cuts line off at its first zero byte: that is where rrdcached stops to read.
func untilZero(line []byte) []byte {
	line, _, _ = bytes.Cut(line, zero)
	return line
}

// cutWord takes the first word off line: up to a blank. A backslash takes the next character as it is. raw is the word as it was
// written, still with its backslashes. more reports whether a blank followed, and with it another word, be it empty. A word that
// ends in a backslash is none, and what follows does not exist.
func cutWord(line []byte) (raw, rest []byte, more, ok bool) {
	i := bytes.IndexByte(line, ' ')
	end := i
	if end < 0 {
		end = len(line)
	}
	if bytes.IndexByte(line[:end], '\\') < 0 {
		if i < 0 {
			return line, nil, false, true
		}
		return line[:i], line[i+1:], true, true
	}
	for i = 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			if i++; i == len(line) {
				return nil, nil, false, false
			}
		case ' ':
			return line[:i], line[i+1:], true, true
		}
	}
	return line, nil, false, true
}

// appendUnescaped appends a word without its backslashes.
func appendUnescaped(dst, raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' {
			i++
		}
		dst = append(dst, raw[i])
	}
	return dst
}

// unescape returns a word without its backslashes: itself if it has none.
func unescape(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return appendUnescaped(nil, raw)
}

// escape returns text as one word of a request.
func escape(text string) string {
	n := 0
	for i := range len(text) {
		if text[i] == ' ' || text[i] == '\\' {
			n++
		}
	}
	if n == 0 {
		return text
	}
	b := make([]byte, 0, len(text)+n)
	for i := range len(text) {
		if text[i] == ' ' || text[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, text[i])
	}
	return string(b)
}

// A request is a line taken apart.
type request struct {
	cmd  *command // nil: there is no such command
	name []byte   // the command as it was written
	args []byte   // what follows it
	has  bool     // whether a blank did
}

// parseRequest reads the command of a line. It is not ok if the first word is none.
func parseRequest(line []byte) (r request, ok bool) {
	raw, rest, more, ok := cutWord(untilZero(line))
	if !ok {
		return r, false
	}
	r.name, r.args, r.has = unescape(raw), rest, more
	r.cmd = findCommand(r.name)
	return r, true
}

// next takes the next word off r; not ok after the last.
func (r *request) next() (word []byte, ok bool) {
	raw, ok := r.nextRaw()
	if !ok {
		return nil, false
	}
	return unescape(raw), true
}

// nextRaw is next for a word as it was written.
func (r *request) nextRaw() (raw []byte, ok bool) {
	if !r.has {
		return nil, false
	}
	raw, r.args, r.has, ok = cutWord(r.args)
	return raw, ok
}

// words returns the words that are left.
func (r *request) words() []string {
	var ws []string
	for {
		w, ok := r.next()
		if !ok {
			return ws
		}
		ws = append(ws, string(w))
	}
}
