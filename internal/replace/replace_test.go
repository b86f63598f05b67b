package replace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rondo-db/rondo/internal/replace"
)

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link": file, "device": os.DevNull, "nowhere": filepath.Join(dir, "no")} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, free := range map[string]bool{
		file: true, filepath.Join(dir, "new"): true, filepath.Join(dir, "link"): true, filepath.Join(dir, "nowhere"): true,
		dir: false, os.DevNull: false, filepath.Join(dir, "device"): false,
	} {
		if err := replace.Check(name); (err == nil) != free {
			t.Errorf("%s: %v", name, err)
		}
	}
}
