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
		{in: "a\u202eb", what: "holds a control character at byte 1 (U+202E)", escaped: `a\u202eb`, lines: `a\u202eb`},
		{in: "\u00ad", what: "holds a control character at byte 0 (U+00AD)", escaped: `\u00ad`, lines: `\u00ad`},
		{in: "\U000e0041", what: "holds a control character at byte 0 (U+E0041)", escaped: `\U000e0041`, lines: `\U000e0041`},
		{in: "می\u200cخواهم 👩\u200d💻 ❤\ufe0f", escaped: "می\u200cخواهم 👩\u200d💻 ❤\ufe0f"},
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

// Characters that hide, or that change the order of others, are refused in names and shown on a
// terminal. A text may have them.
func TestHiddenCharacters(t *testing.T) {
	for _, r := range "\u00ad\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2063\u2066\u2067\u2068\u2069\u206f\ufeff\ufff9\U000e0001\U000e0020\U000e007f" {
		s := "a" + string(r) + "b"
		if text.Check(s) == nil || text.Escape(s) == s || text.EscapeLines(s) == s || !text.IsControl(r) {
			t.Errorf("U+%04X is no control character", r)
		}
		if err := text.Printable(s); err != nil {
			t.Errorf("Printable(%q): %v", s, err)
		}
	}
	for _, s := range []string{"a\nb", "\x1b", "\u2028", "\xff"} {
		if text.Printable(s) == nil {
			t.Errorf("Printable(%q) is nil", s)
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
