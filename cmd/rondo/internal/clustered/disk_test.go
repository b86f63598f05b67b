package clustered

import "testing"

// A disk is full with less than 128 MiB or a twentieth left, and no more with twice that.
func TestFullness(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	var f fullness
	for i, x := range []struct {
		free, size int64
		want       string
	}{
		{128 * mib, 100 * gib, ""},
		{127.5 * mib, 100 * gib, "127.5 MiB left"},
		{255 * mib, 100 * gib, "255.0 MiB left"},
		{256 * mib, 100 * gib, ""},
		{0, 100 * gib, "0.0 MiB left"},
		{0, 0, ""}, // not known
		{5 * mib, 100 * mib, ""},
		{5*mib - 1, 100 * mib, "5.0 MiB left"},
	} {
		if f.look(x.free, x.size); f.String() != x.want {
			t.Errorf("look %d: %q, want %q", i, f.String(), x.want)
		}
	}
}
