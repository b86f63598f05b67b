package rrdtool

import (
	"bytes"
)

// words appends the words of a line to dst. Blanks separate words, except inside single or double
// quotes, which may begin and end inside a word. It reports whether every quote is closed.
func words(dst []string, line []byte) ([]string, bool) {
	for i := 0; i < len(line); {
		if line[i] == ' ' {
			i++
			continue
		}
		var word []byte
		plain := i
		for ; i < len(line) && line[i] != ' '; i++ {
			if line[i] != '"' && line[i] != '\'' {
				continue
			}
			end := bytes.IndexByte(line[i+1:], line[i])
			if end < 0 {
				return dst, false
			}
			word = append(append(word, line[plain:i]...), line[i+1:i+1+end]...)
			i += end + 1
			plain = i + 1
		}
		dst = append(dst, string(append(word, line[min(plain, i):i]...)))
	}
	return dst, true
}

// escapedWords appends the words of a line to dst. Blanks separate words, except inside double
// quotes. A backslash makes the next byte a part of the word; \n is a line feed. It reports whether
// every quote is closed.
func escapedWords(dst []string, line []byte) ([]string, bool) {
	for i := 0; i < len(line); {
		if line[i] == ' ' {
			i++
			continue
		}
		var word []byte
		quoted := false
		for ; i < len(line) && (quoted || line[i] != ' '); i++ {
			switch {
			case line[i] == '"':
				quoted = !quoted
			case line[i] == '\\' && i+1 < len(line):
				i++
				if line[i] == 'n' {
					word = append(word, '\n')
				} else {
					word = append(word, line[i])
				}
			default:
				word = append(word, line[i])
			}
		}
		if quoted {
			return dst, false
		}
		dst = append(dst, string(word))
	}
	return dst, true
}
