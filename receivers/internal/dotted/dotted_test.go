package dotted_test

import (
	"strings"
	"testing"

	"github.com/rondo-db/rondo/receivers/internal/dotted"
)

// TestNamesThatDifferHavePathsThatDiffer: a name with a slash had the path of a name with "_" in
// its place, a tag that ended in .rrd had the path of a tag without it, and a semicolon in a tag's
// value made the path of two tags.
func TestNamesThatDifferHavePathsThatDiffer(t *testing.T) {
	long := strings.Repeat("x", 2000)
	seen := make(map[string]int)
	for i, tt := range []struct {
		path string
		tags [][2]string
	}{
		{"a/b", nil},
		{"a_b", nil},
		{"a/b.c", nil},
		{"a_b.c", nil},
		{"a", [][2]string{{"t", "1.rrd"}}},
		{"a", [][2]string{{"t", "1"}}},
		{"a", [][2]string{{"t", "1;u=2"}}},
		{"a", [][2]string{{"t", "1"}, {"u", "2"}}},
		{"a", [][2]string{{"t=1", "2"}}},
		{"a", [][2]string{{"t", "1=2"}}},
		{"a;t=1", nil},
		{long + "." + long, nil},
		{long + "." + long + "x", nil},
	} {
		n := dotted.NewName(tt.path)
		for _, p := range tt.tags {
			n.SetTag(p[0], p[1])
		}
		path := n.Identity("p").Path
		key := strings.TrimSuffix(path, ".rrd") // as the store has it
		if other, ok := seen[key]; ok {
			t.Errorf("the names %d and %d have one path, %q", other, i, path)
		}
		seen[key] = i
	}
}
