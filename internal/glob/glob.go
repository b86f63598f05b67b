// Package glob turns patterns that people write into regular expressions.
package glob

import (
	"regexp"
	"strings"
)

// Path compiles a pattern for paths: "*" matches any text without a slash, "**" any text, and "?"
// one character except a slash. All other characters match themselves.
func Path(pattern string) *regexp.Regexp { return compile(pattern, "[^/]") }

// Text compiles a pattern for texts in which a slash means nothing special: "*" and "**" match any
// text, "?" matches one character.
func Text(pattern string) *regexp.Regexp { return compile(pattern, "(?s:.)") }

// compile turns a pattern into a regular expression. one is what "?" and each character of "*"
// match.
func compile(pattern, one string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`\A`)
	pattern, open := strings.CutSuffix(pattern, "**") // any end is right: none is looked at
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '*' && strings.HasPrefix(pattern[i:], "**"):
			b.WriteString("(?s:.*)")
			i++
		case c == '*':
			b.WriteString(one + "*")
		case c == '?':
			b.WriteString(one)
		default:
			j := i + 1
			for j < len(pattern) && pattern[j] != '*' && pattern[j] != '?' {
				j++
			}
			b.WriteString(regexp.QuoteMeta(pattern[i:j]))
			i = j - 1
		}
	}
	if !open {
		b.WriteString(`\z`)
	}
	return regexp.MustCompile(b.String())
}
