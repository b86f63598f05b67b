package core_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
)

// TestOpenAmongOtherFiles opens a database in a folder of other files, which stays as it is.
func TestOpenAmongOtherFiles(t *testing.T) {
	for _, test := range []struct {
		name  string
		files []string
		fine  bool
	}{
		{"of pages", []string{"cli.md"}, false},
		{"of a database's settings", []string{".keep", "rondo.yaml", "LOCK"}, true},
		{"a new file system", []string{"lost+found"}, true},
	} {
		dir := t.TempDir()
		for _, name := range test.files {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := core.Open(dir, core.Options{})
		if err == nil {
			err = s.Close()
		}
		if (err == nil) != test.fine {
			t.Errorf("%s: %v, want fine %v", test.name, err, test.fine)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || !test.fine && len(entries) != len(test.files) {
			t.Errorf("%s: there are %v now, %v", test.name, entries, err)
		}
	}
}
