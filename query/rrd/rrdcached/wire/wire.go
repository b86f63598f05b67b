// Package wire reads and writes the words of a line of rrdcached's protocol and the address of a
// server. Server and client share it.
package wire

import "bytes"

// MaxLine is the longest request in bytes, without the line feed at its end.
const MaxLine = 8191

var zero = []byte{0}

// UntilZero cuts line off at its first zero byte, where rrdcached stops reading.
func UntilZero(line []byte) []byte {
	line, _, _ = bytes.Cut(line, zero)
	return line
}

// CutWord takes the first word off line: everything before a blank. The character after a backslash
// belongs to the word, whatever it is. raw is the word with its backslashes. more reports whether a
// blank follows, and with it another word, which may be empty. ok is false if the word ends in a
// backslash; rrdcached then ignores the rest of the line.
func CutWord(line []byte) (raw, rest []byte, more, ok bool) {
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

// Unescape returns a word without its backslashes. It returns raw itself if it has none.
func Unescape(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return appendUnescaped(nil, raw)
}

// Escape returns text as one word of a request: with backslashes before blanks and backslashes.
func Escape(text string) string {
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
