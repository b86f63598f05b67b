package rrdd_test

import (
	"testing"

	"github.com/rondo-db/rondo/receivers/rrdd"
)

// TestNamesThatDiffer: names with a slash and with "_" in its place were one series.
func TestNamesThatDiffer(t *testing.T) {
	of := make(map[string]string)
	for _, name := range []string{"a/b", "a_b", "R\uFFFDu", "a\x01", "a\x02", "a_", ".", "_"} {
		for _, path := range []string{
			rrdd.Identify("p", &rrdd.Source{Name: name}).Path,
			rrdd.Identify(name, &rrdd.Source{Name: "x"}).Path,
			rrdd.Identify("p", &rrdd.Source{Name: "x", Owner: rrdd.VM, UUID: name}).Path,
		} {
			if other, ok := of[path]; ok {
				t.Errorf("%q and %q are both %s", name, other, path)
			}
			of[path] = name
		}
	}
}
