//go:build unix

package conffile_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rondo-db/rondo/internal/conffile"
)

// TestPipesAreNotWaitedFor: nobody writes to the pipe, so that opening it would wait for ever.
func TestPipesAreNotWaitedFor(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := conffile.Read(name, 4); !errors.Is(err, conffile.ErrKind) {
		t.Errorf("a pipe: %v", err)
	}
}
