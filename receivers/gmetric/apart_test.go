package gmetric

import "testing"

// TestNamesThatDiffer: metrics a/b and a_b were one series, and their values mixed.
func TestNamesThatDiffer(t *testing.T) {
	of := make(map[string]string)
	for _, name := range []string{"disk_/var", "disk__var", "R\xe4ume", "R\xfcume", "R\uFFFDume", "a\x01", "a_", ".", "_"} {
		for _, p := range []string{path([]byte("web7"), []byte(name)), path([]byte(name), []byte("load"))} {
			if other, ok := of[p]; ok {
				t.Errorf("%q and %q are both %s", name, other, p)
			}
			of[p] = name
		}
	}
	if got := path([]byte("web7"), []byte("disk__var")); got != "ganglia/web7/disk__var" {
		t.Errorf("a name that a path can have is %s", got)
	}
}
