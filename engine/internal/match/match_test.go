package match

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestExpressionsAreReducedToValuesPrefixesAndSuffixes(t *testing.T) {
	for _, c := range []struct {
		text, prefix string
		values       []string
	}{
		{"web1", "web1", []string{"web1"}},
		{"web1|web2|db", "", []string{"db", "web1", "web2"}},
		{"web(1|2)", "web", []string{"web1", "web2"}},
		{"web[1-3]?", "web", []string{"web", "web1", "web2", "web3"}},
		{"web.*", "web", nil},
		{"web[0-9]+x", "web", nil},
		{"(web|west).*", "we", nil},
		{"^web$", "web", []string{"web"}},
		{"(?i)web", "", nil},
		{".*web", "", nil},
		{"", "", []string{""}},
		{"a\\.b", "a.b", []string{"a.b"}},
		{"a{2}(b|c){2}", "aa", []string{"aabb", "aabc", "aacb", "aacc"}},
		{"(web)+", "", nil},
		{"[a-z]{3}", "", nil},
		{"(a|b){8}c{1000}", "", nil},
	} {
		m, err := New(Regexp, "l", c.text)
		if err != nil {
			t.Fatal(err)
		}
		x := analyse(m.Regexp)
		if x.prefix != c.prefix || !slices.Equal(x.values, c.values) {
			t.Errorf("%q: values %q, prefix %q; want %q, %q", c.text, x.values, x.prefix, c.values, c.prefix)
		}
	}
	for text, suffix := range map[string]string{
		".*web": "web", ".*[.](com|net)": "", "a.*(web)$": "web", ".*(?i)web": "", ".*(?:web){2}": "b", ".*(web)?": "", ".*\ufffd": "", ".*web|x": "",
	} {
		m, err := New(Regexp, "l", text)
		if err != nil {
			t.Fatal(err)
		}
		if x := analyse(m.Regexp); !strings.HasSuffix(x.suffix, suffix) || suffix == "" && x.suffix != "" {
			t.Errorf("%q: suffix %q, want %q", text, x.suffix, suffix)
		}
	}
	if x := analyse(regexp.MustCompile("web")); x.values != nil || x.prefix != "" {
		t.Errorf("an expression that is not anchored: %+v", x)
	}
}

// FuzzExpression compares what analyse returns for an expression with what it matches.
func FuzzExpression(f *testing.F) {
	f.Add("web[12]?|db", "web1") // values
	f.Add("(a|ab)(c|bcd)*", "abcd")
	f.Add("(?i)K", "\u212a") // the sign for Kelvin is a k
	f.Add("|x.*", "")
	f.Add("a$|^b", "b") // anchors within
	f.Add(".+", "\n")
	f.Add(".*\ufffd", "\xff") // matches bytes that are no UTF-8
	f.Add("\ufffd|[\ufff0-\ufffe]", "\xac")
	f.Add("web\ufffd.*", "web\xac")
	f.Add(".*(web)\\b", "aweb")
	f.Add(".*web$", "aweb")
	f.Fuzz(func(t *testing.T, text, value string) {
		m, err := New(Regexp, "l", text)
		if err != nil {
			return
		}
		x := analyse(m.Regexp)
		for _, v := range append(slices.Clone(x.values), value, x.prefix+value, value+x.suffix) {
			match := m.Regexp.MatchString(v)
			switch {
			case x.values != nil && match != slices.Contains(x.values, v):
				t.Errorf("%q matches %q: %v; its values: %q", text, v, match, x.values)
			case match && !strings.HasPrefix(v, x.prefix):
				t.Errorf("%q matches %q, without the prefix %q", text, v, x.prefix)
			case match && !strings.HasSuffix(v, x.suffix):
				t.Errorf("%q matches %q, without the suffix %q", text, v, x.suffix)
			case x.any && !match, x.some && match != (v != ""):
				t.Errorf("%q matches %q: %v", text, v, match)
			}
		}
	})
}
