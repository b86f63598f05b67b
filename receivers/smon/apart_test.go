package smon

import "testing"

// TestNamesThatDiffer: names with a slash and with "_" in its place were one series.
func TestNamesThatDiffer(t *testing.T) {
	of := make(map[string]string)
	for _, name := range []string{"a/b", "a_b", "a", "R\xe4u", "R\xfcu", "a\x01", "a_", "a/1", "a_1"} {
		for _, index := range [][]uint64{nil, {1}, {1, 2}} {
			path := Identify("10.0.0.1", &Token{Name: name}, index).Path
			if other, ok := of[path]; ok {
				t.Errorf("%q and %q are both %s", name, other, path)
			}
			of[path] = name
		}
	}
}
