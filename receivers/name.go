package receivers

import (
	"strings"
	"unicode/utf8"
)

// AppendComponent appends one component of a series' path to dst, made of parts set one
// after the other: in it "/", the bytes 00 to 1F and 7F become "_", invalid UTF-8 becomes
// U+FFFD, and a component that is "." or ".." becomes "_" or "__". Nothing else is changed.
func AppendComponent[T string | []byte](dst []byte, parts ...T) []byte {
	start := len(dst)
	for _, p := range parts {
		for i := 0; i < len(p); {
			switch c := p[i]; {
			case c == '/' || c < 0x20 || c == 0x7f:
				dst = append(dst, '_')
				i++
			case c < utf8.RuneSelf:
				dst = append(dst, c)
				i++
			default:
				r, n := decodeRune(p[i:])
				dst = utf8.AppendRune(dst, r)
				i += n
			}
		}
	}
	switch string(dst[start:]) {
	case ".", "..":
		for i := start; i < len(dst); i++ {
			dst[i] = '_'
		}
	}
	return dst
}

func decodeRune[T string | []byte](p T) (rune, int) {
	return utf8.DecodeRune([]byte(p[:min(len(p), utf8.UTFMax)]))
}

// Text returns b as text: invalid UTF-8 becomes U+FFFD.
func Text(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
