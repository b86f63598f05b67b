// Package text defines which texts can be names, and makes other texts safe to show.
//
// Names of series, labels and data sources are printed in lines, quoted in answers of line
// protocols, and sent in messages that must be UTF-8. So a name is valid UTF-8 without control
// characters: see [Check]. Names that were stored before a character counted as one are found by
// what [Printable] takes. [Escape] and [EscapeLines] make any other text safe for a terminal.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// IsControl reports whether a character may end a line, move the cursor or control a terminal, or
// make a name look like another one: U+0000 to U+001F, U+007F to U+009F, the line and paragraph
// separators U+2028 and U+2029, which end lines in some programs, and what is hidden: the controls
// of bidirectional text, and characters without any width. The joiners U+200C and U+200D are none:
// scripts and emoji need them.
func IsControl(r rune) bool { return endsLines(r) || isHidden(r) }

func endsLines(r rune) bool {
	return r < 0x20 || 0x7f <= r && r <= 0x9f || r == 0x2028 || r == 0x2029
}

// isHidden reports whether a character is not seen, or changes the order of others.
func isHidden(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case r == 0xad, r == 0x61c, r == 0x200b, r == 0x200e, r == 0x200f, r == 0xfeff:
		return true
	case 0x202a <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f, 0xfff9 <= r && r <= 0xfffb:
		return true
	}
	return 0xe0000 <= r && r <= 0xe007f // tags
}

// Check returns nil if s can be a name or part of one. Otherwise the error says where s is no UTF-8
// or holds a control character; it does not quote s.
func Check(s string) error { return check(s, IsControl) }

// CheckLines is Check for a text that may have several lines: line feeds, carriage returns and tabs
// are no control characters there.
func CheckLines(s string) error {
	return check(s, func(r rune) bool { return !breaks(r) && IsControl(r) })
}

func breaks(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }

// PrintableLines is CheckLines as Printable is Check.
func PrintableLines(s string) error {
	return check(s, func(r rune) bool { return !breaks(r) && endsLines(r) })
}

// Printable is Check, but s may hold what is hidden: soft hyphens, and the controls of
// bidirectional text, which titles may need.
func Printable(s string) error { return check(s, endsLines) }

func check(s string, refused func(r rune) bool) error {
	for i := 0; i < len(s); {
		if c := s[i]; 0x20 <= c && c < 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return fmt.Errorf("is no UTF-8 at byte %d (%02x)", i, s[i])
		case refused(r):
			return fmt.Errorf("holds a control character at byte %d (U+%04X)", i, r)
		}
		i += n
	}
	return nil
}

// Escape returns s with everything that Check refuses written as Go writes it within quotes: \n,
// \x1b, \u0085, and \xff for a byte that is no UTF-8. A backslash stays as it is.
func Escape(s string) string { return escape(s, false) }

// EscapeLines is Escape, but line feeds and tabs stay as they are.
func EscapeLines(s string) string { return escape(s, true) }

func escape(s string, lines bool) string {
	if Check(s) == nil {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case lines && (r == '\n' || r == '\t'), !IsControl(r):
			b.WriteString(s[i : i+n])
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += n
	}
	return b.String()
}

// Cut returns the beginning of s: at most n bytes, and no part of a character.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
