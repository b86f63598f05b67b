package core_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
)

// TestMissingDatabaseIsTold opens a log whose database was deleted: that everything is there again
// is no reason to say nothing.
func TestMissingDatabaseIsTold(t *testing.T) {
	dir := t.TempDir()
	var lines bytes.Buffer
	o := core.Options{NoBackground: true, Logger: slog.New(slog.NewTextHandler(&lines, nil))}
	s := mustOpen(t, dir, o)
	newFeeder(t, s, 3).mustFeed(3)
	mustClose(t, s.Abandon())
	if lines.Len() != 0 {
		t.Errorf("a new database is warned of:\n%s", lines.String())
	}
	if err := os.Remove(filepath.Join(dir, "rondo.bolt")); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, dir, o)
	if n := s.Stats().Series; n != 3 || !strings.Contains(lines.String(), "level=WARN") {
		t.Errorf("%d series, and the log says:\n%s", n, lines.String())
	}
	mustClose(t, s.Close())
}

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
