package text_test

import (
	"testing"

	"github.com/rondo-db/rondo/internal/text"
)

func TestCheckAndEscape(t *testing.T) {
	for _, tt := range []struct{ in, what, escaped, lines string }{
		{in: "collectd/web 1/größe – 温度\u00a0\u200d", escaped: "collectd/web 1/größe – 温度\u00a0\u200d"},
		{in: "", escaped: ""},
		{in: `a\nb`, escaped: `a\nb`},
		{in: "a\nb", what: "holds a control character at byte 1 (U+000A)", escaped: `a\nb`, lines: "a\nb"},
		{in: "a\tb", what: "holds a control character at byte 1 (U+0009)", escaped: `a\tb`, lines: "a\tb"},
		{in: "a\r", what: "holds a control character at byte 1 (U+000D)", escaped: `a\r`, lines: `a\r`},
		{in: "\x1b[31m", what: "holds a control character at byte 0 (U+001B)", escaped: `\x1b[31m`, lines: `\x1b[31m`},
		{in: "\x00", what: "holds a control character at byte 0 (U+0000)", escaped: `\x00`, lines: `\x00`},
		{in: "é\x7f", what: "holds a control character at byte 2 (U+007F)", escaped: `é\x7f`, lines: `é\x7f`},
		{in: "\u0085", what: "holds a control character at byte 0 (U+0085)", escaped: `\u0085`, lines: `\u0085`},
		{in: "\u2028", what: "holds a control character at byte 0 (U+2028)", escaped: `\u2028`, lines: `\u2028`},
		{in: "a\xff\xfe", what: "is no UTF-8 at byte 1 (ff)", escaped: `a\xff\xfe`, lines: `a\xff\xfe`},
		{in: "\xed\xa0\x80", what: "is no UTF-8 at byte 0 (ed)", escaped: `\xed\xa0\x80`, lines: `\xed\xa0\x80`},
		{in: "\ufffd", escaped: "\ufffd"},
	} {
		what := ""
		if err := text.Check(tt.in); err != nil {
			what = err.Error()
		}
		if what != tt.what {
			t.Errorf("Check(%q): %q, want %q", tt.in, what, tt.what)
		}
		if got := text.Escape(tt.in); got != tt.escaped {
			t.Errorf("Escape(%q) = %q, want %q", tt.in, got, tt.escaped)
		}
		if tt.what == "" {
			tt.lines = tt.escaped
		}
		if got := text.EscapeLines(tt.in); got != tt.lines {
			t.Errorf("EscapeLines(%q) = %q, want %q", tt.in, got, tt.lines)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"abc", 3, "abc"},
		{"abc", 2, "ab"},
		{"aé", 2, "a"},
		{"aé", 3, "aé"},
		{"€", 2, ""},
		{"€", 0, ""},
	} {
		if got := text.Cut(c.s, c.n); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
}
