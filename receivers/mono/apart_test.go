package mono

import "testing"

// TestNamesThatDiffer: names with a slash and with "_" in its place were one series.
func TestNamesThatDiffer(t *testing.T) {
	of := make(map[string]string)
	for _, name := range []string{"a/b", "a_b", "R\xe4u", "R\xfcu", "R\uFFFDu", "a\x01", "a_", "GC/sec", "GC_sec"} {
		path := Identify("10.0.0.1#2", &Counter{Name: name}).Path
		if other, ok := of[path]; ok {
			t.Errorf("%q and %q are both %s", name, other, path)
		}
		of[path] = name
	}
}
