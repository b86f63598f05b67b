// Package glob turns patterns that people write into regular expressions.
package glob

import (
	"regexp"
	"strings"
)

// Path compiles a pattern for paths: "*" stands for any text without a slash, "**" for any text and
// "?" for one character that is no slash. All other characters stand for themselves.
func Path(pattern string) *regexp.Regexp { return compile(pattern, "[^/]") }

// Text compiles a pattern for texts in which a slash is a character like others: "*" and "**" stand
// for any text, "?" for one character.
func Text(pattern string) *regexp.Regexp { return compile(pattern, "(?s:.)") }

// compile turns a pattern into a regular expression. one is what "?" and each character of "*"
// match.
func compile(pattern, one string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`\A`)
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
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String())
}
