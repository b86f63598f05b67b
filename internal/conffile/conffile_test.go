package conffile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rondo-db/rondo/internal/conffile"
)

func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, link} {
		if b, err := conffile.Read(name, 4); string(b) != "text" || err != nil {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		if b, err := conffile.Read(name, 3); b != nil || !errors.Is(err, conffile.ErrLong) {
			t.Errorf("%s, 3 bytes at most: %q, %v", name, b, err)
		}
	}
	if _, err := conffile.Read(filepath.Join(dir, "missing"), 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	for _, name := range []string{dir, os.DevNull} {
		if _, err := conffile.Read(name, 4); !errors.Is(err, conffile.ErrKind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
