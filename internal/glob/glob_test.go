package glob_test

import (
	"regexp"
	"testing"

	"github.com/rondo-db/rondo/internal/glob"
)

func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		path, plain   bool
	}{
		{"", "", true, true},
		{"", "a", false, false},
		{"a*c", "abc", true, true},
		{"a*c", "ac", true, true},
		{"a*c", "a/c", false, true},
		{"a**c", "a/b/c", true, true},
		{"a**c", "a\nc", true, true},
		{"a*c", "a\nc", true, true},
		{"a?c", "a/c", false, true},
		{"a?c", "aüc", true, true},
		{"a?c", "ac", false, false},
		{"a.c", "abc", false, false},
		{"a[b]", "a[b]", true, true},
		{"a", "ab", false, false},
		{"b", "ab", false, false},
		{"a/**", "a/b\n\xff/c", true, true},
		{"a/**", "b/a/", false, false},
		{"a***", "a/b", true, true},
	} {
		for name, c := range map[string]struct {
			compile func(string) *regexp.Regexp
			want    bool
		}{"Path": {glob.Path, tt.path}, "Text": {glob.Text, tt.plain}} {
			if got := c.compile(tt.pattern).MatchString(tt.text); got != c.want {
				t.Errorf("%s(%q) matches %q: %t, want %t", name, tt.pattern, tt.text, got, c.want)
			}
		}
	}
}
