package streams

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFilePeer: a file's peer is its name without folder and extension.
func TestFilePeer(t *testing.T) {
	for _, test := range []struct{ name, want string }{
		{"a.bin", "a"},
		{"10.0.0.7.bin", "10.0.0.7"},
		{"a", "a"},
		{".bin", ".bin"},
	} {
		name := filepath.Join(t.TempDir(), test.name)
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := openFile(name, false)
		if err != nil {
			t.Fatal(err)
		}
		f.close()
		if f.peer != test.want {
			t.Errorf("%s: peer %q, want %q", test.name, f.peer, test.want)
		}
	}
}
