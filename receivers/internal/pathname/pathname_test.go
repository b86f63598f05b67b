package pathname_test

import (
	"strings"
	"testing"

	"github.com/rondo-db/rondo/receivers/internal/pathname"
)

// TestPath: names that differ give paths that differ, and a path is what was added wherever it can
// be.
func TestPath(t *testing.T) {
	long := strings.Repeat("µ", 600)
	seen := make(map[string][]string)
	for _, names := range [][]string{
		{"a", "b"},
		{"a/b"},
		{"a_b"},
		{"", "a"},
		{"a", ""},
		{"-", "a"},
		{"a", "-"},
		{"."},
		{"_"},
		{".."},
		{"__"},
		{"a.rrd"},
		{"a"},
		{"a\x01"},
		{"a\xff"},
		{"a\uFFFD"},
		{long},
		{long + "x"},
		{long, "x"},
		{"x", long},
	} {
		p := pathname.New("p")
		for _, n := range names {
			p.Add(n)
		}
		got := p.String()
		if other, ok := seen[got]; ok {
			t.Errorf("%.20q and %.20q are both %s", names, other, got)
		}
		seen[got] = names
		if len(got) > pathname.Max || !strings.HasPrefix(got, "p/") {
			t.Errorf("%.20q is %q", names, got)
		}
	}
	for want, names := range map[string][]string{"p/a/b": {"a", "b"}, "p/-/a": {"", "a"}, "p/a": {"a"}, "p/_": {"_"}} {
		if n := seen[want]; strings.Join(n, "|") != strings.Join(names, "|") {
			t.Errorf("%s is of %q, want %q", want, n, names)
		}
	}
}

// TestMix: what the path does not show counts where it is cut short.
func TestMix(t *testing.T) {
	make := func(label string) string {
		p := pathname.New("p")
		p.Mix(label)
		p.Add(strings.Repeat("x", 2000))
		return p.String()
	}
	if make("a") == make("b") {
		t.Error("labels that differ have one path")
	}
}
