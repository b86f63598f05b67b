package receivers

import (
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/rondo-db/rondo/internal/text"
)

// AppendComponent appends one component of a series' path to dst. The component is the parts, one
// after the other, with these changes: "/" and control characters (text.IsControl) become "_",
// invalid UTF-8 becomes U+FFFD, "." becomes "_" and ".." becomes "__". So names that differ may
// become one component: package pathname keeps them apart.
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
				if text.IsControl(r) {
					r = '_'
				}
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

// LabelText makes s valid as the name of a label: control characters become "_", invalid UTF-8
// becomes U+FFFD.
func LabelText(s string) string { return valid(s, text.Check) }

// LabelValue is LabelText for the value of a label, which may have several lines.
func LabelValue(s string) string { return valid(s, text.CheckLines) }

func valid(s string, check func(string) error) string {
	if check(s) == nil {
		return s
	}
	return strings.Map(func(r rune) rune {
		if check(string(r)) != nil {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Text returns b as a string in which invalid UTF-8 is replaced by U+FFFD.
func Text(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// FilePeer returns the name of the peer that a recorded file stands for: the file's name without
// folder and extension.
func FilePeer(file string) string {
	base := filepath.Base(file)
	if peer := strings.TrimSuffix(base, filepath.Ext(base)); peer != "" {
		return peer
	}
	return base
}
